import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startProcess } from './server-process.ts';
import { stopUnderLoad } from './stop-under-load.ts';

test(
  'a server with busy clients stops in order: no request is cut, and no acknowledged write is lost',
  { tags: ['slow'] },
  async () => {
    await stopUnderLoad({ clientsOfEach: 15, rows: 20_000, drainDelayMs: 300 });
  },
);

test('a client that reads late gets all responses to what it sent before the stop', async () => {
  const server = await startProcess({ env: { SERVICE_SERVER_SHUTDOWN_GRACE_MS: '60000' } });
  const rows = Array.from({ length: 50_000 }, (_, id) => ({ id }));
  await server.put('t', rows);
  const read = '/exec?handle=t&fmt=json';
  // From now on the server has the response, and sends it in one piece.
  const { length } = await (await server.fetch(read)).text();
  // Together more than the buffers of the system hold.
  const count = 40;
  const socket = connect(server.port, '127.0.0.1').setEncoding('latin1');
  onTestFinished(() => void socket.destroy());
  const closed = new Promise((resolve) => socket.once('error', resolve).once('close', resolve));
  socket.write(`GET ${read} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(count));
  await once(socket, 'readable');
  server.child.kill('SIGTERM');
  await expect.poll(() => server.fetch('/ping').then(String, () => 'refused')).toBe('refused');
  let received = '';
  socket.on('data', (text: string) => (received += text));
  await closed;
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(Array.from({ length: count }, () => 'HTTP/1.1 200'));
  expect(received.length).toBeGreaterThan(count * length);
  expect(await server.exited).toEqual({ code: 0, signal: null });
});
