import { gzipSync } from 'node:zlib';
import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { afterAll, describe, expect, test } from 'vitest';
import { createExecApp } from '../create-exec-app.ts';

const service = createService({ store: createMemoryStore(), maxLinesBytes: 100_000 });
const app = createExecApp({ service });
afterAll(() => service.close());

const post = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  app.request(path, { method: 'POST', body: Uint8Array.from(Buffer.from(body)), headers });

const rowsOf = async (handle: string): Promise<unknown> => {
  const response = await app.request(`/exec?handle=${handle}&fmt=json`);
  return ((await response.json()) as { dataset: unknown }).dataset;
};

test.each(['/write', '/api/v2/write?org=o&bucket=b', '/write?db=x&precision=n'])(
  'POST %s is 204 without a body',
  async (path) => {
    const handle = `t${Buffer.from(path).toString('hex')}`;
    const response = await post(path, `${handle},s=a x=1.5 1700000000000000000`);
    expect([response.status, await response.text()]).toEqual([204, '']);
    expect(await rowsOf(handle)).toEqual([['a', 1.5, '2023-11-14T22:13:20.000000000Z']]);
  },
);

test('precision is the unit of the times', async () => {
  expect((await post('/write?precision=ms', 'unit x=1 1700000000123')).status).toBe(204);
  expect(await rowsOf('unit')).toEqual([[1, '2023-11-14T22:13:20.123000000Z']]);
});

test('a line without a time has that of the server', async () => {
  const before = Date.now();
  await post('/write', 'timeless x=1');
  const [[, time]] = (await rowsOf('timeless')) as [[number, string]];
  expect(Date.parse(time)).toBeGreaterThanOrEqual(before);
  expect(Date.parse(time)).toBeLessThanOrEqual(Date.now());
});

test('a compressed body, and an empty one', async () => {
  expect((await post('/write', gzipSync('zipped x=1'), { 'content-encoding': 'gzip' })).status).toBe(204);
  expect(await rowsOf('zipped')).toHaveLength(1);
  expect((await post('/write', '')).status).toBe(204);
});

describe('an error has the fields of this server, and those that clients of line protocol read:', () => {
  test.each([
    [
      '/write',
      'e x=1\ne x="a',
      {},
      400,
      { code: 'invalid_data', line: 2, message: 'Line 2: a text in quotes has no end.' },
    ],
    [
      '/write?precision=year',
      'e x=1',
      {},
      400,
      { code: 'invalid_argument', message: 'precision="year" is not a unit of time.' },
    ],
    ['/write', 'x'.repeat(100_001), {}, 413, { code: 'payload_too_large' }],
    ['/write', gzipSync(`#${'x'.repeat(100_001)}`), { 'content-encoding': 'gzip' }, 413, { code: 'payload_too_large' }],
    ['/write', 'e x=1', { 'content-encoding': 'br' }, 415, { code: 'unsupported_media_type' }],
  ])('%s %s', async (path, body, headers, status, fields) => {
    const response = await post(path, body, { ...headers, 'x-request-id': 'my-request' });
    const answer = (await response.json()) as Record<string, unknown>;
    expect(response.status).toBe(status);
    expect(answer).toMatchObject({ ...fields, requestId: 'my-request', errorId: 'my-request' });
    expect(answer['error']).toBe(answer['message']);
    expect(answer['hint']).not.toBe('');
  });

  test('an unknown parameter', async () => {
    const response = await post('/write?precisoin=ms', 'e x=1');
    expect([response.status, await response.json()]).toMatchObject([400, { hint: /Did you mean precision\?/ }]);
  });
});

test('GET /write is 405, and /settings names the version of the protocol', async () => {
  expect((await app.request('/write')).headers.get('allow')).toBe('POST');
  expect(await (await app.request('/settings')).json()).toEqual({
    config: { 'line.proto.support.versions': [1], 'cairo.max.file.name.length': 127 },
  });
});
