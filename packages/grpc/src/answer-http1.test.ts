import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { PREFACE, startServer } from '../test/start-server.ts';

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Writes each chunk when the server has had a chance to read the one before. */
async function writeSlowly(socket: Socket, chunks: Iterable<string | Uint8Array>): Promise<void> {
  for (const chunk of chunks) {
    await new Promise((resolve) => socket.write(chunk, resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test.each([
  ['a request', ['GET / HTTP/1.1\r\nhost: a\r\n\r\n']],
  ['a request in pieces', ['P', 'OS', 'T', ' /exec HTTP/1.1\r\n']],
  ['a request whose method begins like HTTP/2', ['PR', 'OPFIND / HTTP/1.1\r\n\r\n']],
  ['a long body', [`PUT /frames/t HTTP/1.1\r\ncontent-length: 900000\r\n\r\n${'x'.repeat(900_000)}`]],
])('%s in HTTP/1.1 is answered with the port of the HTTP API', async (_name, chunks) => {
  const { port, server } = await startServer({ httpPort: 9000 });
  const socket = open(port);
  const answer = text(socket);
  await writeSlowly(socket, chunks);
  const body = 'This port speaks gRPC, over HTTP/2. Send HTTP requests to port 9000.\n';
  expect(await answer).toBe(
    `HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${body.length}\r\n` +
      `connection: close\r\n\r\n${body}`,
  );
  await expect.poll(() => server.connectionCount()).toBe(0);
});

test('fetch reads the answer', async () => {
  const { port } = await startServer();
  const response = await fetch(`http://127.0.0.1:${port}/ping`);
  expect([response.status, await response.text()]).toEqual([
    400,
    'This port speaks gRPC, over HTTP/2. Use a gRPC client.\n',
  ]);
});

test('a client of HTTP/2 that sends one byte at a time is served', async () => {
  const { port } = await startServer();
  const socket = open(port);
  const [settings] = await Promise.all([
    once(socket, 'data'),
    writeSlowly(
      socket,
      Array.from(PREFACE, (byte) => Uint8Array.of(byte)),
    ),
  ]);
  expect((settings as [Buffer])[0][3]).toBe(4);
});

test.each(['get / HTTP/1.1\r\n\r\n', '\r\n\r\n', '\u0016\u0003\u0001', 'ABCDEFGHIJKLM'])(
  'other bytes, such as %j, are no HTTP/1.1',
  async (bytes) => {
    const { port } = await startServer();
    const socket = open(port);
    const [first] = (await Promise.all([once(socket, 'data'), writeSlowly(socket, [bytes])]))[0] as [Buffer];
    expect(first.toString('latin1')).not.toContain('HTTP/1.1');
  },
);

test('a client that leaves before its first bytes, or within its method, frees its place', async () => {
  const { port, server } = await startServer({ maxConnections: 1 });
  for (const bytes of ['', 'PO']) {
    const socket = open(port);
    await once(socket, 'connect');
    await writeSlowly(socket, bytes === '' ? [] : [bytes]);
    await expect.poll(() => server.connectionCount()).toBe(1);
    socket.resetAndDestroy();
    await expect.poll(() => server.connectionCount()).toBe(0);
  }
});

test('shutdown closes connections without a first byte', async () => {
  const { port, server } = await startServer();
  const socket = open(port).resume();
  await expect.poll(() => server.connectionCount()).toBe(1);
  await Promise.all([once(socket, 'close'), server.shutdown()]);
});
