import type { Server } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { formatAddress } from '@svc/config';
import type { Connections } from './connections.ts';

/** A listener could not bind; the message names the address and the setting. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** The listen backlog. With Node's default of 511, further clients wait a second or more before they retry. */
const BACKLOG = 4096;

/** Listens on an address, and resolves to the port. */
export function listenHttp(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject);
      const bound = server.address();
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port);
    });
  });
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there; stop it, or set another port',
  EACCES: 'this user may not use the port; set one above 1023',
  EADDRNOTAVAIL: 'this machine does not have the address',
  ENOTFOUND: 'the name is unknown',
};

/** Returns the error of a failed bind; `setting` names the address. */
export function listenError(error: unknown, host: string, port: number, setting: string): ListenError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = REASONS[code] ?? (error instanceof Error ? error.message : String(error));
  return new ListenError(`Cannot listen on ${formatAddress({ host, port })} (${setting}): ${reason}.`, {
    cause: error,
  });
}

/** How long no client connects until none is waiting: longer than it takes from a connection to its request. */
const PAUSE_MS = 5;
/** If clients come all the time, at most this many pauses. */
const MAX_PAUSES = 40;

/** Resolves when the clients in the queue of the listener are answered. */
export async function untilAnswered(connections: Pick<Connections, 'accepted' | 'inFlight'>): Promise<void> {
  for (let pause = 0; pause < MAX_PAUSES; pause += 1) {
    const accepted = connections.accepted();
    await sleep(PAUSE_MS);
    // Timers run before connections are accepted.
    await nextTurn();
    if (connections.accepted() === accepted && connections.inFlight() === 0) return;
  }
}
