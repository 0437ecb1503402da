import { gunzipSync } from 'node:zlib';
import { createMemoryStore, parseHandle } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { createService, type Service, type ServiceEvent, type ServiceOptions } from '@svc/service';
import type { TsdbProxy } from '@svc/tsdb-proxy';
import { Hono } from 'hono';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createExecApp, type ExecAppOptions } from './index.ts';

const services: Service[] = [];

afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
});

async function appWith(
  rows: number,
  options: Partial<ExecAppOptions> = {},
  parts: Partial<ServiceOptions> = {},
): Promise<Hono> {
  const store = createMemoryStore();
  await store.put({ tenant: 'default', handle: parseHandle('t') }, longFrame(rows, { batchRows: 10_000 }));
  const service = createService({ store, ...parts });
  services.push(service);
  return new Hono().route('/', createExecApp({ service, ...options }));
}

describe('every endpoint, mounted in another app,', () => {
  const page = { 'sec-fetch-site': 'cross-site', origin: 'https://app.example' };
  const drop = { method: 'DELETE', headers: page };

  test('refuses a change by a page of another origin', async () => {
    const app = await appWith(1);
    expect((await app.request('/frames/t', drop)).status).toBe(403);
    expect((await app.request('/frames/t', { headers: page })).status).toBe(200);
    const other = await appWith(1, { allowedOrigins: ['https://app.example'] });
    expect((await other.request('/frames/t', drop)).status).toBe(204);
  });

  test('refuses a host that is not allowed', async () => {
    const app = await appWith(1, { allowedHosts: ['data.example', '::1'] });
    const statuses = ['data.example', 'data.example:8080', '[::1]', 'localhost', '[::2]'].map(
      async (host) => (await app.request(`http://${host}/ping`)).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 200, 200, 403, 403]);
  });
});

describe('a refused upload', () => {
  const put = (body: ReadableStream<Uint8Array>): RequestInit & { duplex: 'half' } => ({
    method: 'PUT',
    headers: { 'content-type': 'image/png', 'content-length': '1000000' },
    body,
    duplex: 'half',
  });

  test('gets its response at once, and is read to its end', async () => {
    const app = await appWith(1);
    let pulls = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => (++pulls > 100 ? controller.close() : controller.enqueue(new Uint8Array(10_000))),
    });
    const response = await app.request('/frames/x', put(body));
    expect(response.status).toBe(415);
    const reader = response.body?.getReader();
    const answer = await reader?.read();
    expect(JSON.parse(Buffer.from(answer?.value ?? []).toString())).toMatchObject({ code: 'unsupported_media_type' });
    expect(response.headers.get('content-length')).toBe(String(answer?.value?.byteLength));
    expect(pulls).toBeLessThan(100);
    expect(await reader?.read()).toMatchObject({ done: true });
    expect(pulls).toBe(101);
  });

  test('that never ends is abandoned after ten seconds', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const app = await appWith(1);
    const cancelled = vi.fn<() => void>();
    const response = await app.request('/frames/x', put(new ReadableStream({ cancel: cancelled })));
    const text = response.text();
    await vi.advanceTimersByTimeAsync(9_900);
    expect(cancelled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(200);
    expect(await text).toContain('unsupported_media_type');
    expect(cancelled).toHaveBeenCalledOnce();
  });
});

describe('a short response', () => {
  test('has its length, the number of rows of the frame and an ETag', async () => {
    const app = await appWith(3);
    const response = await app.request('/exec?handle=t&fmt=json&limit=2');
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-total-count': '3',
      vary: 'accept-encoding',
      etag: expect.stringMatching(/^"[0-9A-Z]{26}"$/),
    });
    expect(await response.text()).toBe(
      '{"query":"handle:t","columns":[{"name":"id","type":"LONG"}],"dataset":[[0],[1]],"count":2}',
    );
  });

  test('is 304 for a client that has the version, in any encoding', async () => {
    const app = await appWith(3);
    const { headers } = await app.request('/exec?handle=t&fmt=json');
    const etag = headers.get('etag') ?? '';
    const compressed = etag.replace(/"$/, '-gzip"');
    for (const [known, answered] of [
      [etag, etag],
      [`W/${etag}`, etag],
      [`"x", ${etag}`, etag],
      ['*', etag],
      [compressed, compressed],
    ]) {
      const response = await app.request('/exec?handle=t&fmt=json', { headers: { 'if-none-match': known } });
      expect([response.status, await response.text()]).toEqual([304, '']);
      expect(response.headers.get('etag')).toBe(answered);
    }
    const changed = await app.request('/exec?handle=t&fmt=json', { headers: { 'if-none-match': '"01ABC"' } });
    expect(changed.status).toBe(200);
  });

  test('has timings and no ETag if timings are requested', async () => {
    const app = await appWith(1);
    const response = await app.request('/exec?handle=t&fmt=json&timings=true');
    expect(response.headers.get('etag')).toBeNull();
    expect(Object.keys((await response.json()) as object)).toEqual(['query', 'columns', 'dataset', 'count', 'timings']);
  });
});

describe('compression', () => {
  const gzip = { headers: { 'accept-encoding': 'gzip' } };

  test.each([
    ['a short body', 500],
    ['a streamed body', 400_000],
  ])('%s is gzip if the client accepts it, with its own ETag', async (_name, rows) => {
    const app = await appWith(rows);
    const response = await app.request('/exec?handle=t&fmt=json&limit=1000000', gzip);
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(response.headers.get('etag')).toMatch(/-gzip"$/);
    const parsed = JSON.parse(gunzipSync(await response.arrayBuffer()).toString()) as { count: number };
    expect(parsed.count).toBe(rows);
  });

  test('leaves a tiny body and its ETag unchanged', async () => {
    const response = await (await appWith(1)).request('/exec?handle=t&fmt=json', gzip);
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(response.headers.get('etag')).not.toContain('gzip');
  });

  test('works for every response, such as a list of frames', async () => {
    const app = await appWith(1);
    for (let i = 0; i < 20; i++) {
      const headers = { 'content-type': 'application/json' };
      await app.request(`/frames/t${i}`, { method: 'PUT', body: '[]', headers });
    }
    const response = await app.request('/frames', gzip);
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(JSON.parse(gunzipSync(await response.arrayBuffer()).toString())).toHaveProperty('frames.length', 21);
  });

  test('HEAD has the headers of GET', async () => {
    const app = await appWith(400_000);
    for (const path of ['/exec?handle=t&fmt=json', '/exec?handle=t&fmt=json&limit=400000', '/frames/t', '/ping']) {
      const own = ({ headers }: Response): object => {
        const { 'x-request-id': _, ...others } = Object.fromEntries(headers);
        return others;
      };
      const got = await app.request(path, gzip);
      await got.arrayBuffer();
      expect(own(await app.request(path, { ...gzip, method: 'HEAD' }))).toEqual(own(got));
    }
  });

  test('can be switched off', async () => {
    const response = await (await appWith(500, { compression: false })).request('/exec?handle=t&fmt=json', gzip);
    expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([null, null]);
  });
});

describe('a frame being sent', () => {
  test('is closed when the client disconnects', async () => {
    const store = createMemoryStore();
    await store.put({ tenant: 'default', handle: parseHandle('t') }, longFrame(500_000));
    const service = createService({ store });
    services.push(service);
    const response = await createExecApp({ service }).request('/exec?handle=t&fmt=json&limit=500000');
    const reader = response.body!.getReader();
    await reader.read();
    await store.drop({ tenant: 'default', handle: parseHandle('t') });
    expect((await store.usage()).bytes).toBeGreaterThan(0);
    await reader.cancel();
    expect((await store.usage()).bytes).toBe(0);
  });

  test.each([
    ['HEAD of a short answer', '/exec?handle=t&fmt=json', 'HEAD'],
    ['HEAD of a long answer', '/exec?handle=t&fmt=json&limit=200000', 'HEAD'],
    ['HEAD of an export', '/exp?handle=t&fmt=arrow', 'HEAD'],
    ['a response that is never read', '/exp?handle=t&fmt=csv', 'GET'],
  ])('is closed after %s, and after 304', async (_name, path, method) => {
    const app = await appWith(200_000);
    const answer = await app.request(path, { method });
    await answer.body?.cancel();
    await app.request(path, { headers: { 'if-none-match': answer.headers.get('etag') ?? '' } });
    await app.request('/frames/t', { method: 'DELETE' });
    const health = (await (await app.request('/health')).json()) as { parts: { store: { bytes: number } } };
    expect(health.parts.store.bytes).toBe(0);
  });
});

describe('http.max_rows', () => {
  test('refuses an open range with more rows, and accepts one without', async () => {
    const app = await appWith(20, { maxRows: 10 });
    expect((await app.request('/exec?handle=t&fmt=json&limit=11,')).status).toBe(200);
    expect((await app.request('/exec?handle=t&fmt=json&limit=10,')).status).toBe(400);
  });
});

describe('events', () => {
  test('every request is reported once, with its status, and a failure with its error', async () => {
    const events: ServiceEvent[] = [];
    const app = await appWith(400_000, {}, { observe: (event) => events.push(event) });
    await (await app.request('/exec?handle=t&fmt=json')).text();
    await (await app.request('/exec?handle=t&fmt=json&limit=400000')).text();
    await app.request('/exec?handle=x&fmt=json', { headers: { 'x-request-id': 'mine' } });
    const answered = events.flatMap((event) => (event.kind === 'request_answered' ? [event] : []));
    expect(answered).toMatchObject([
      { method: 'GET', route: '/exec', status: 200 },
      { method: 'GET', route: '/exec', status: 200 },
      { method: 'GET', route: '/exec', status: 404, requestId: 'mine', error: { code: 'handle_not_found' } },
    ]);
  });
});

test('mounted under a path it answers there and leaves other paths to its host', async () => {
  const store = createMemoryStore();
  const service = createService({ store });
  services.push(service);
  const host = new Hono().route('/data', createExecApp({ service }));
  host.get('/mine', (c) => c.text('host'));
  host.notFound((c) => c.text('host says no', 404));
  expect(await (await host.request('/data/ping')).text()).toBe('ok');
  const put = await host.request('/data/frames/t', {
    method: 'PUT',
    body: '[{"id":1}]',
    headers: { 'content-type': 'application/json' },
  });
  expect(put.status).toBe(201);
  expect((await host.request('/data/frames/t')).status).toBe(200);
  expect(await (await host.request('/mine')).text()).toBe('host');
  expect(await (await host.request('/data/nope')).text()).toBe('host says no');
});

test('an internal error shows no details, and the observer gets the cause', async () => {
  const events: ServiceEvent[] = [];
  const store = { ...createMemoryStore(), list: () => Promise.reject(new Error('secret /path')) };
  const service = createService({ store, observe: (event) => events.push(event) });
  services.push(service);
  const response = await createExecApp({ service }).request('/frames');
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('secret');
  expect(events).toMatchObject([
    { kind: 'request_started' },
    { kind: 'request_answered', error: { code: 'internal', cause: { message: 'secret /path' } } },
  ]);
});

describe('POST /exec', () => {
  async function forwarded(init: RequestInit, query = '?fmt=json'): Promise<unknown> {
    let params: unknown;
    const tsdb: TsdbProxy = {
      forward: async (_call, request) => {
        params = 'params' in request ? request.params : undefined;
        return { status: 200, headers: {}, body: null };
      },
      close: async () => {},
    };
    const app = await appWith(1, {}, { tsdb });
    const response = await app.request(`/exec${query}`, { method: 'POST', ...init });
    return response.status === 200 ? params : [response.status, ((await response.json()) as { code: string }).code];
  }
  const sql = { 'content-type': 'application/sql; charset=utf-8' };
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const asked = [
    ['query', 'select 1+1 -- é'],
    ['fmt', 'json'],
  ];

  test('takes the SQL in the body, plain or as a form field', async () => {
    expect(await forwarded({ body: 'select 1+1 -- é', headers: sql })).toEqual(asked);
    expect(await forwarded({ body: 'select 1+1 -- é', headers: { 'content-type': 'text/plain' } })).toEqual(asked);
    expect(await forwarded({ body: 'query=select+1%2B1+--+%C3%A9', headers: form })).toEqual(asked);
    expect(await forwarded({ body: 'fmt=json&query=select+1%2B1+--+%C3%A9', headers: form }, '')).toEqual(asked);
  });

  test.each<[name: string, init: RequestInit, query: string, expected: unknown]>([
    ['SQL in the URL as well', { body: 'x', headers: sql }, '?fmt=json&query=y', [400, 'invalid_argument']],
    ['a handle as well', { body: 'x', headers: sql }, '?fmt=json&handle=t', [400, 'invalid_argument']],
    [
      'another content type',
      { body: '{}', headers: { 'content-type': 'application/json' } },
      '?fmt=json',
      [415, 'unsupported_media_type'],
    ],
    ['no content type', { body: new Uint8Array([65]) }, '?fmt=json', [415, 'unsupported_media_type']],
    [
      'bytes that are not UTF-8',
      { body: new Uint8Array([0xff]), headers: sql },
      '?fmt=json',
      [400, 'invalid_argument'],
    ],
    ['a broken escape', { body: 'query=%zz', headers: form }, '?fmt=json', [400, 'invalid_argument']],
    ['more than 1 MiB', { body: 'x'.repeat(1024 * 1024 + 1), headers: sql }, '?fmt=json', [413, 'payload_too_large']],
  ])('refuses %s', async (_name, init, query, expected) => {
    expect(await forwarded(init, query)).toEqual(expected);
  });
});

test('405 lists the allowed methods; one of the database is forwarded without them', async () => {
  const tsdb: TsdbProxy = {
    forward: async () => ({ status: 405, headers: {}, body: null }),
    close: async () => {},
  };
  const app = await appWith(1, {}, { tsdb });
  const allow = async (method: string, path: string): Promise<[number, string | null]> => {
    const { status, headers } = await app.request(path, { method });
    return [status, headers.get('allow')];
  };
  expect(await allow('PUT', '/exec')).toEqual([405, 'GET, HEAD, POST']);
  expect(await allow('HEAD', '/exec?query=x&fmt=json')).toEqual([405, 'GET, POST']);
  expect(await allow('GET', '/exec?query=x&fmt=json')).toEqual([405, null]);
});
