import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { residentBytes } from '../../../tools/process-resources.js';
import { sendRaw, sharedProcess, type ServerProcess, startProcess } from './server-process.ts';
import { startUpstream } from './upstream.ts';

function requestText(line: string, headers = '', body = ''): string {
  const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`;
  return `${line} HTTP/1.1\r\nHost: localhost\r\n${headers}${length}\r\n${body}`;
}

const LAST = requestText('GET /ping', 'Connection: close\r\n');

function statuses(answers: string): readonly number[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** Sends requests and does not read the responses. */
function flood({ port }: ServerProcess, bytes: string): Socket {
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
  socket.pause();
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

test(
  'a flood of pipelined reads takes little memory, and others are answered meanwhile',
  { tags: ['slow'] },
  async () => {
    const server = await startProcess();
    const rows = Array.from({ length: 10_000 }, (_, id) => ({ id, text: 'x'.repeat(50) }));
    await server.put('t', rows);
    const path = '/exec?handle=t&fmt=json&limit=10000&timings=true';
    for (let i = 0; i < 5; i++) await (await server.fetch(path)).text();
    const before = residentBytes(server.child.pid);
    flood(server, requestText(`GET ${path}`).repeat(10_000));
    const latenciesMs: number[] = [];
    for (const end = Date.now() + 1500; Date.now() < end;) {
      const start = performance.now();
      await (await server.fetch('/ping')).text();
      latenciesMs.push(performance.now() - start);
    }
    // The median: a busy machine delays some of them, a server that answers the flood first delays all.
    expect(latenciesMs.toSorted((a, b) => a - b)[latenciesMs.length >> 1]).toBeLessThan(1000);
    expect((residentBytes(server.child.pid) - before) / 1024 ** 2).toBeLessThan(100);
  },
);

test('a thousand pipelined requests are answered completely and in order', { tags: ['slow'] }, async () => {
  const server = await sharedProcess();
  await server.put('t', [{ id: 1 }]);
  const ids = Array.from({ length: 1000 }, (_, i) => `request-${i}`);
  const reads = ids.map((id) => requestText('GET /exec?handle=t&fmt=json', `x-request-id: ${id}\r\n`));
  const answers = await sendRaw(server.port, reads.join('') + LAST);
  expect([...answers.matchAll(/x-request-id: (request-\d+)/gi)].map(([, id]) => id)).toEqual(ids);
  expect(answers.split('"dataset":[[1]],"count":1}')).toHaveLength(1001);
});

test('pipelined changes take effect one after the other', { tags: ['slow'] }, async () => {
  const server = await sharedProcess();
  const put = (id: number): string => requestText('PUT /frames/a?fmt=csv', '', `id\r\n${id}\r\n`);
  const read = requestText('GET /exec?handle=a&fmt=json');
  const drop = requestText('DELETE /frames/a');
  const answers = await sendRaw(server.port, [read, put(1), read, put(2), read, drop, read, LAST].join(''));
  expect(statuses(answers)).toEqual([404, 201, 200, 200, 200, 204, 404, 200]);
  expect([...answers.matchAll(/"dataset":\[\[(\d)\]\]/g)].map(([, id]) => id)).toEqual(['1', '2']);
});

test('an upload after many pipelined requests is read', { tags: ['slow'] }, async () => {
  const server = await sharedProcess();
  const csv = `id\r\n${'1\r\n'.repeat(200_000)}`;
  const requests = requestText('GET /ping').repeat(100) + requestText('PUT /frames/a?fmt=csv', '', csv);
  const answers = await sendRaw(server.port, requests + requestText('GET /ping').repeat(100) + LAST);
  expect(statuses(answers)).toEqual([...Array.from({ length: 100 }, () => 200), 201, ...Array(101).fill(200)]);
  expect(await (await server.fetch('/frames/a')).json()).toMatchObject({ rows: 200_000 });
});

test('SQL that is pipelined after a slow statement waits for it', async () => {
  let finish = (): void => {};
  const upstream = await startUpstream((_request, response) => {
    finish = () => response.end('{}');
  });
  const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: upstream.url } });
  const answered = sendRaw(server.port, requestText('GET /exec?query=x&fmt=json').repeat(3) + LAST);
  for (const count of [1, 2, 3]) {
    await expect.poll(() => upstream.requests.length).toBe(count);
    expect((await server.fetch('/ping')).status).toBe(200);
    expect(upstream.requests).toHaveLength(count);
    finish();
  }
  expect(statuses(await answered)).toEqual([200, 200, 200, 200]);
});

test('requests after one that closes the connection are not run', async () => {
  const server = await sharedProcess();
  const put = requestText('PUT /frames/a?fmt=csv', '', 'id\r\n1\r\n');
  expect(statuses(await sendRaw(server.port, LAST + put))).toEqual([200]);
  expect(await (await server.fetch('/frames')).json()).toEqual({ frames: [] });
});

test('malformed HTTP is refused after the responses to earlier requests', async () => {
  const { port } = await sharedProcess();
  const answers = await sendRaw(port, `${requestText('GET /frames').repeat(20)}this is not HTTP\r\n\r\n`);
  expect(statuses(answers)).toEqual([...Array.from({ length: 20 }, () => 200), 400]);
});
