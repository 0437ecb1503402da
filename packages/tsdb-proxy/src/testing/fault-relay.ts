import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { type ConnectionFault, createFault } from './connection-faults.ts';
import { type StalledListener, stallListener } from './stalled-listener.ts';

/** A fault of the relay: it refuses connections, never accepts them, or breaks the response. */
export type Fault = 'refuses' | 'never connects' | ConnectionFault;

/** A TCP relay in front of a database that injects faults. */
export interface FaultRelay {
  readonly url: string;
  /** The open connections of clients. */
  readonly openConnections: number;
  /** Injects this fault from now on; undefined: none. */
  inject(fault: Fault | undefined): Promise<void>;
  close(): Promise<void>;
}

/** Options of `startFaultRelay`. */
export interface FaultRelayOptions {
  /** The pause between two bytes that drip, in milliseconds. Default: 20. */
  readonly dripMs?: number;
}

/** Starts a relay to a database on loopback. */
export async function startFaultRelay(
  databaseUrl: string,
  { dripMs = 20 }: FaultRelayOptions = {},
): Promise<FaultRelay> {
  const databasePort = Number(new URL(databaseUrl).port);
  const clients = new Set<Socket>();
  let fault: ConnectionFault | undefined;
  let stalled: StalledListener | undefined;

  const server = createServer((client) => {
    const upstream = connect(databasePort, '127.0.0.1');
    let answer: (bytes: Buffer) => void = () => undefined;
    clients.add(client);
    client.on('data', (bytes: Buffer) => {
      answer = createFault(fault, client, dripMs);
      upstream.write(bytes);
    });
    upstream.on('data', (bytes: Buffer) => answer(bytes));
    client
      .on('error', () => undefined)
      // Destroy it here: Node leaves a connection that is reset while it ends half-closed forever.
      .on('end', () => client.destroy())
      .on('close', () => {
        clients.delete(client);
        upstream.destroy();
      });
    upstream.on('error', () => undefined).on('close', () => client.destroy());
  });
  const port = await listen(server, 0);

  const leave = async (): Promise<void> => {
    for (const client of clients) client.resetAndDestroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    url: `http://127.0.0.1:${port}`,
    get openConnections() {
      return clients.size;
    },
    async inject(next) {
      await stalled?.close();
      stalled = undefined;
      fault = undefined;
      if (next === 'refuses') return leave();
      if (next === 'never connects') {
        await leave();
        stalled = await stallListener(port);
        return;
      }
      fault = next;
      if (!server.listening) await listen(server, port);
    },
    async close() {
      await stalled?.close();
      await leave();
    },
  };
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay does not listen on a port');
  return address.port;
}
