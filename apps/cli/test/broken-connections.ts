import type { Socket } from 'node:net';
import { expect } from 'vitest';
import { runBinary, startBinary } from './run.ts';
import { startStandIn, startTcpStandIn } from './stand-in.ts';

/** How the answer to /exec begins, and a thousand rows of it. */
export const HEAD =
  '{"query":"handle:t","columns":[{"name":"a","type":"LONG"},{"name":"s","type":"STRING"}],"dataset":[';
export const ROWS = Array.from({ length: 1000 }, (_, i) => `[${i},"${'x'.repeat(50)}"]`).join(',');

/** How a server may close a connection. */
export const CLOSES = [
  ['in order', (socket: Socket): unknown => socket.end()],
  ['by a reset', (socket: Socket): unknown => socket.resetAndDestroy()],
] as const;

/** Fails where a command does not say that the server has closed its connection. */
export async function expectSaysClosed(argv: readonly string[], meet: (socket: Socket) => unknown): Promise<void> {
  const url = await startTcpStandIn(meet);
  expect(await runBinary([...argv, '--url', url], '[]')).toEqual({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(
      /^error: The request to \S+ failed: the server closed the connection without a response\.\nhint: .+\n$/,
    ),
  });
}

/** Fails where a command does not end when its output is closed. */
export async function expectEndsSilently(flag: string): Promise<void> {
  let isOpen = true;
  const { url } = await startStandIn((_, response) => {
    const type = flag === '--csv' ? 'text/csv' : 'application/json';
    response
      .on('close', () => (isOpen = false))
      .writeHead(200, { 'content-type': type })
      .write(HEAD);
    const more = (): void => {
      while (response.write(`${ROWS},`));
    };
    response.on('drain', more);
    more();
  });
  const child = startBinary(['get', 't', flag, '--url', url]);
  child.stdout.once('data', () => child.stdout.destroy());
  expect(await child.ran).toMatchObject({ code: 0, stderr: '' });
  await expect.poll(() => isOpen).toBe(false);
}
