import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { byTier } from '../../../test/tier.ts';
import { sendRaw, sharedProcess, startProcess } from './server-process.ts';

const MEGABYTE = Buffer.alloc(1024 * 1024, '1,2,3,4\n');
const MEGABYTES = 80;

/** Sends the whole request before it reads the response, as Python clients do. */
async function sendThenRead(port: number, head: string, tail: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.pause();
  const failed = once(socket, 'error').then(([error]) => Promise.reject(error as Error));
  failed.catch(() => {});
  socket.write(`${head}\r\nHost: localhost\r\nContent-Length: ${MEGABYTES * MEGABYTE.length}\r\n\r\n`);
  for (let i = 0; i < MEGABYTES; i++) if (!socket.write(MEGABYTE)) await Promise.race([once(socket, 'drain'), failed]);
  socket.write(tail);
  let answer = '';
  socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
  socket.resume();
  await Promise.race([once(socket, 'close'), failed]);
  return answer;
}

const LAST = 'GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

for (const [options, rows] of byTier([
  ['of an unknown format', 'PUT /frames/t?fmt=nope HTTP/1.1', 415],
  ['to a path that is not there', 'PUT /nope HTTP/1.1', 404],
  ['of another origin', 'PUT /frames/t?fmt=csv HTTP/1.1\r\nOrigin: https://evil.example', 403],
  ['that is too large', 'PUT /frames/t?fmt=csv HTTP/1.1', 413],
  ['of rows that do not fit', 'PUT /frames/t HTTP/1.1\r\nContent-Type: application/json', 400],
  ['of too long SQL', 'POST /exec?fmt=json HTTP/1.1\r\nContent-Type: text/plain', 413],
])) {
  test.each(rows)(
    'a client sees why its long upload %s is refused, and can use the connection',
    options,
    async (_name, head, status) => {
      const { port } =
        status === 413 ? await startProcess({ toml: '[http]\nmax_upload_bytes = 1_000_000\n' }) : await sharedProcess();
      const answers = await sendThenRead(port, head, LAST);
      expect([...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, text]) => Number(text))).toEqual([status, 200]);
    },
  );
}

test('a client that closes its connection after a refused upload sees the response', { tags: ['slow'] }, async () => {
  const { port } = await sharedProcess();
  const answer = await sendThenRead(port, 'PUT /frames/t?fmt=nope HTTP/1.1\r\nConnection: close', '');
  expect(answer).toMatch(/^HTTP\/1\.1 415 [^]*"code":"unsupported_media_type"[^]*\}$/);
});

test('a client that waits for 100 Continue gets it if the upload is read, otherwise only the refusal', async () => {
  const { port } = await sharedProcess();
  const head = (path: string): string =>
    `PUT ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 7\r\n\r\n`;
  const refused = connect(port, '127.0.0.1', () => refused.write(head('/frames/t?fmt=nope')));
  onTestFinished(() => void refused.destroy());
  const [answer] = (await once(refused, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 415 [^]*connection: close/i);
  expect(await sendRaw(port, `${head('/frames/t?fmt=csv')}id\r\n1\r\n`)).toMatch(/^HTTP\/1\.1 100 [^]*HTTP\/1\.1 201 /);
});
