import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { onTestFinished } from 'vitest';

/** A TCP proxy that breaks connections. */
export interface CuttingProxy {
  readonly port: number;
  /** The number of connections that it broke. */
  cuts(): number;
}

/** Starts a proxy that resets its first connections after they have sent this many bytes to the client. */
export async function startCuttingProxy(
  target: number,
  { bytes, cuts }: { readonly bytes: number; readonly cuts: number },
): Promise<CuttingProxy> {
  let done = 0;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    let passed = 0;
    upstream.on('data', (chunk) => {
      passed += chunk.length;
      if (done < cuts && passed > bytes) {
        done++;
        client.resetAndDestroy();
        upstream.destroy();
      } else if (!client.write(chunk)) {
        upstream.pause();
        client.once('drain', () => upstream.resume());
      }
    });
    client.on('data', (chunk) => upstream.write(chunk));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => undefined).on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  return { port: address.port, cuts: () => done };
}
