import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sendRaw, sharedProcess } from './server-process.ts';

const HOST = 'Host: localhost\r\n';
const PUT = `PUT /frames/a?fmt=csv HTTP/1.1\r\n${HOST}`;
const CHUNKS = '7\r\nid\r\n1\r\n\r\n0\r\n\r\n';
const PING = `GET /ping HTTP/1.1\r\n${HOST}\r\n`;

function statuses(answers: string): readonly number[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

test.each([
  ['two Host headers', `GET /ping HTTP/1.1\r\n${HOST}Host: evil.example\r\n\r\n`],
  ['the same Host twice', `GET /ping HTTP/1.1\r\n${HOST}HOST: localhost\r\n\r\n`],
  ['Transfer-Encoding: gzip, chunked', `${PUT}Transfer-Encoding: gzip, chunked\r\n\r\n${CHUNKS}`],
  ['Transfer-Encoding: chunked, gzip', `${PUT}Transfer-Encoding: chunked, gzip\r\n\r\n${CHUNKS}`],
  ['Transfer-Encoding: identity', `${PUT}Transfer-Encoding: identity\r\n\r\n`],
  ['Transfer-Encoding twice', `${PUT}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`],
  ['Transfer-Encoding in HTTP/1.0', `${PUT.replace('1.1', '1.0')}Transfer-Encoding: chunked\r\n\r\n${CHUNKS}`],
  ['Transfer-Encoding and Content-Length', `${PUT}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n${CHUNKS}`],
  ['Content-Length and Transfer-Encoding', `${PUT}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`],
  ['two Content-Lengths', `${PUT}Content-Length: 7\r\nContent-Length: 8\r\n\r\nid\r\n1\r\n`],
  ['a list of Content-Lengths', `${PUT}Content-Length: 7, 7\r\n\r\nid\r\n1\r\n`],
  ['a Content-Length with a sign', `${PUT}Content-Length: +7\r\n\r\nid\r\n1\r\n`],
  ['a header that goes on in the next line', `GET /ping HTTP/1.1\r\n${HOST}x-a: b\r\n c\r\n\r\n`],
  ['lines that end without CR', `GET /ping HTTP/1.1\r\nHost: localhost\nx-a: b\r\n\r\n`],
  ['lines that end without LF', `GET /ping HTTP/1.1\r\nHost: localhost\rx-a: b\r\n\r\n`],
  ['a blank before the colon', `${PUT}Content-Length : 7\r\n\r\nid\r\n1\r\n`],
])('%s is 400 and closes the connection', async (_name, bytes) => {
  const server = await sharedProcess();
  const answer = await sendRaw(server.port, bytes + PING);
  expect(statuses(answer)).toEqual([400]);
  expect(answer).toMatch(/connection: close/i);
  expect(answer).toMatch(/content-type: application\/json/i);
  expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({ code: 'invalid_argument' });
  expect(await (await server.fetch('/frames')).json()).toEqual({ frames: [] });
});

test('Transfer-Encoding: Chunked is read', async () => {
  const { port } = await sharedProcess();
  const answer = await sendRaw(port, `${PUT}Connection: close\r\nTransfer-Encoding: Chunked\r\n\r\n${CHUNKS}`);
  expect(statuses(answer)).toEqual([201]);
});

test('CONNECT is 405 in JSON', async () => {
  const { port } = await sharedProcess();
  const answers = await sendRaw(port, `${PING}CONNECT localhost:80 HTTP/1.1\r\n${HOST}\r\n`);
  expect(statuses(answers)).toEqual([200, 405]);
  expect(answers).toContain('"code":"method_not_allowed"');
});

describe('a request that asks for another protocol', () => {
  const FOO = 'Connection: Upgrade\r\nUpgrade: foo\r\n';
  const H2C = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAA\r\n';
  const LAST = PING.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

  test.each([
    ['foo', FOO],
    ['HTTP/2, as curl does', H2C],
    ['WebSocket', 'Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'],
  ])('%s, is answered, and so are those after it', async (_name, headers) => {
    const { port } = await sharedProcess();
    const get = `GET /ping HTTP/1.1\r\n${HOST}${headers}\r\n`;
    const put = `${PUT}${headers}Content-Length: 7\r\n\r\nid\r\n1\r\n`;
    const chunked = `${PUT}${headers}Transfer-Encoding: chunked\r\n\r\n${CHUNKS}`;
    const read = `GET /exec?handle=a&fmt=json HTTP/1.1\r\n${HOST}\r\n`;
    const answers = await sendRaw(port, [PING, get, put, read, get, get, chunked, PING, LAST].join(''));
    expect(statuses(answers)).toEqual([200, 200, 201, 200, 200, 200, 200, 200, 200]);
    expect(answers).toContain('"dataset":[[1]],"count":1}');
  });

  test('leaves the connection usable', async () => {
    const { port } = await sharedProcess();
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => (received += text));
    for (const count of [1, 2, 3]) {
      socket.write(`GET /ping HTTP/1.1\r\n${HOST}${H2C}\r\n`);
      await expect.poll(() => statuses(received).length).toBe(count);
    }
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(LAST);
    await closed;
    expect(statuses(received)).toEqual([200, 200, 200, 200]);
  });
});
