import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { createMemoryStore } from '@svc/frames';
import { createService, type Service } from '@svc/service';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createExecApp, writeStreamed } from '../index.ts';

const ROWS = Array.from({ length: 200_000 }, (_, id) => ({ id, text: `row ${id} of many` }));

type Row = (typeof ROWS)[number];

const FORMATS: readonly [format: string, path: string, text: (rows: readonly Row[]) => string][] = [
  [
    'JSON',
    '/exec?handle=long&fmt=json&limit=1,',
    (rows) =>
      `{"query":"handle:long","columns":[{"name":"id","type":"LONG"},{"name":"text","type":"STRING"}],"dataset":${JSON.stringify(
        rows.map((row) => Object.values(row)),
      )},"count":${rows.length}}`,
  ],
  ['NDJSON', '/exp?handle=long&fmt=ndjson&limit=1,', (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')],
  [
    'CSV',
    '/exp?handle=long&fmt=csv&limit=1,',
    (rows) => `id,text\r\n${rows.map(({ id, text }) => `${id},${text}\r\n`).join('')}`,
  ],
];

const service = createService({ store: createMemoryStore() });
const app = createExecApp({ service });

beforeAll(async () => {
  const headers = { 'content-type': 'application/json' };
  await app.request('/frames/long', { method: 'PUT', body: JSON.stringify(ROWS), headers });
});
afterAll(() => service.close());

describe.each(FORMATS)('a long answer as %s has every row once, in order', (_format, path, textOf) => {
  test('as a web stream', { tags: ['slow'] }, async () => {
    const response = await app.request(path);
    expect((await response.text()) === textOf(ROWS)).toBe(true);
  });

  test('compressed', { tags: ['slow'] }, async () => {
    const response = await app.request(path, { headers: { 'accept-encoding': 'gzip' } });
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(gunzipSync(await response.arrayBuffer()).toString() === textOf(ROWS)).toBe(true);
  });

  test('written to its connection', async () => {
    const written: boolean[] = [];
    const server = createServer((incoming, outgoing) => {
      const answer = async () => app.fetch(new Request(`http://localhost${incoming.url}`), { incoming, outgoing });
      void answer().then((response) => written.push(writeStreamed(response, outgoing)));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
    expect((await response.text()) === textOf(ROWS)).toBe(true);
    expect(written).toEqual([true]);
  });

  test('cached for the next request', async () => {
    let reads = 0;
    const readFrame: Service['readFrame'] = (...args) => ((reads += 1), service.readFrame(...args));
    const counted = createExecApp({ service: { ...service, readFrame } });
    for (let times = 0; times < 3; times++) {
      const response = await counted.request(`${path}20000`);
      expect((await response.text()) === textOf(ROWS.slice(0, 20_000))).toBe(true);
    }
    expect(reads).toBe(2);
  });
});
