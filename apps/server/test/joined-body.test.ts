import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { JoinedBody } from '../src/http/create-http-server.ts';

/** Sends a body in chunks of these lengths; returns what arrives. */
async function send(lengths: readonly number[], headers: Readonly<Record<string, string>> = {}) {
  const server = createServer({ IncomingMessage: JoinedBody });
  const arrived: Buffer[] = [];
  server.on('request', (incoming, response) => {
    incoming.on('data', (chunk: Buffer) => arrived.push(chunk)).on('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const sent = request({ port, host: '127.0.0.1', method: 'POST', headers });
  let byte = 0;
  const body = lengths.map((length) => Buffer.alloc(length, (byte = (byte + 1) % 256)));
  // In one packet.
  sent.cork();
  for (const chunk of body) sent.write(chunk);
  sent.uncork();
  sent.end();
  await once(sent, 'response');
  return { arrived, body: Buffer.concat(body), received: Buffer.concat(arrived) };
}

test.each<readonly [string, readonly number[]]>([
  ['no chunk', []],
  ['one chunk', [3]],
  ['a long one', [100_000]],
  ['short ones', Array.from({ length: 5000 }, () => 1)],
  ['short ones between long ones', [1, 1, 5000, 1, 70_000, 2, 2, 4096, 4097, 1]],
  ['more than fits into one', Array.from({ length: 300 }, (_, i) => 1000 + i)],
])('a body has the same bytes: %s', async (_, lengths) => {
  const { body, received } = await send(lengths);
  expect(received.equals(body)).toBe(true);
});

test('a body with a length has the same bytes', async () => {
  const { body, received } = await send([1, 2, 3, 5000], { 'content-length': '5006' });
  expect(received.equals(body)).toBe(true);
});

test('a body that is not read stops its connection', async () => {
  const server = createServer({ IncomingMessage: JoinedBody });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const sent = request({ port, host: '127.0.0.1', method: 'POST' });
  sent.setNoDelay(true);
  const chunk = Buffer.alloc(2048, 7);
  const count = 10_000;
  const sending = (async () => {
    // One at a time, so that the server reads each alone.
    for (let i = 0; i < count; i += 1) {
      await new Promise((resolve) => sent.write(chunk, resolve));
      await nextTurn();
    }
    sent.end();
  })();
  const [incoming, response] = (await once(server, 'request')) as [JoinedBody, ServerResponse];
  // The client cannot send more: its own buffers are full, too.
  let before = -1;
  await expect.poll(() => before === (before = incoming.socket.bytesRead), { interval: 200 }).toBe(true);
  expect(incoming.readableLength).toBeLessThan(200_000);
  let received = 0;
  for await (const bytes of incoming) received += (bytes as Buffer).length;
  response.end();
  await sending;
  expect(received).toBe(count * chunk.length);
});

test('chunks of one byte arrive together', async () => {
  const { arrived, received } = await send(Array.from({ length: 5000 }, () => 1));
  expect(received).toHaveLength(5000);
  expect(arrived.length).toBeLessThan(50);
});
