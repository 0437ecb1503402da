import { ServiceError } from '@svc/errors';
import {
  type Call,
  createMemoryStore,
  type Engine,
  type QueryOptions,
  streamFromTable,
  type StatementInfo,
} from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { createService, type Service } from '@svc/service';
import { tableFromArrays } from 'apache-arrow';
import type { Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createExecApp, type ExecAppOptions, type ExecEnv } from '../index.ts';

interface Asked {
  readonly sql: string;
  readonly options: QueryOptions | undefined;
  readonly call: Call;
}

/** An engine that knows three statements, and records its queries and which results were closed. */
function createRecordedEngine(): Engine & { readonly asked: Asked[]; open: number } {
  const asked: Asked[] = [];
  return {
    asked,
    open: 0,
    async query(call, sql, options) {
      asked.push({ sql, options, call });
      if (sql === 'bad') throw new ServiceError('invalid_sql', 'No.', { query: sql, position: 2 });
      if (sql === 'busy') throw new ServiceError('too_many_requests', 'Busy.');
      this.open += 1;
      const stream =
        sql === 'long'
          ? longFrame(300_000, { batchRows: 10_000 })
          : streamFromTable(tableFromArrays({ id: new BigInt64Array([1n, 2n, 3n]), n: Int32Array.of(7, 8, 9) }));
      return { ...stream, close: () => void (this.open -= 1) };
    },
    describe: (): Promise<StatementInfo> => Promise.reject(new Error('not asked')),
    close: async () => {},
  };
}

let engine: ReturnType<typeof createRecordedEngine>;
let service: Service;

function appWith(options: Partial<ExecAppOptions> = {}): Hono<ExecEnv> {
  return createExecApp({ service, ...options });
}

beforeEach(() => {
  engine = createRecordedEngine();
  service = createService({ store: createMemoryStore(), engines: { local: engine } });
});
afterEach(() => service.close());

describe('engine=local', () => {
  test.each<[target: string, contentType: string, body: string]>([
    [
      '/exec?query=three&engine=local&fmt=json',
      'application/json; charset=utf-8',
      '{"query":"three","columns":[{"name":"id","type":"LONG"},{"name":"n","type":"INT"}],"dataset":[[1,7],[2,8],[3,9]],"count":3}',
    ],
    [
      '/exec?query=three&engine=local&fmt=json&limit=2,2&cols=n',
      'application/json; charset=utf-8',
      '{"query":"three","columns":[{"name":"n","type":"INT"}],"dataset":[[8]],"count":1}',
    ],
    [
      '/exec?query=three&engine=local&fmt=json&limit=2,2&cols=n&count=true&nm=true',
      'application/json; charset=utf-8',
      '{"dataset":[[8]],"count":3}',
    ],
    [
      '/exec?query=three&engine=local&fmt=json&limit=0&count=true&nm=true',
      'application/json; charset=utf-8',
      '{"dataset":[],"count":3}',
    ],
    [
      '/exec?query=three&engine=local&fmt=json&limit=9,&count=true&nm=true',
      'application/json; charset=utf-8',
      '{"dataset":[],"count":3}',
    ],
    [
      '/exec?query=three&engine=local&fmt=json&cols=id&count=true&nm=true&src=con',
      'application/json; charset=utf-8',
      '{"dataset":[["1"],["2"],["3"]],"count":3}',
    ],
    [
      '/exec?query=long&engine=local&fmt=json&limit=3,3&cols=id&count=true&nm=true',
      'application/json; charset=utf-8',
      '{"dataset":[[2]],"count":300000}',
    ],
    ['/exp?query=three&engine=local&limit=1', 'text/csv; charset=utf-8; header=present', 'id,n\r\n1,7\r\n'],
    ['/exp?query=three&engine=local&limit=1&nm=true', 'text/csv; charset=utf-8; header=absent', '1,7\r\n'],
    ['/exp?query=three&engine=local&fmt=ndjson&cols=id&limit=1', 'application/x-ndjson', '{"id":1}\n'],
  ])('%s', async (target, contentType, body) => {
    const response = await appWith().request(target);
    expect([response.status, await response.text()]).toEqual([200, body]);
    expect(response.headers.get('content-type')).toBe(contentType);
    expect(engine.open).toBe(0);
  });

  test('an export has a file name, and a query result has no ETag', async () => {
    const { headers } = await appWith().request('/exp?query=three&engine=local');
    expect(headers.get('content-disposition')).toBe('attachment; filename="query.csv"');
    expect(headers.get('etag')).toBeNull();
  });

  test('POST takes the SQL from the body and parameters from the URL', async () => {
    const response = await appWith().request('/exec?engine=local&fmt=json&param=1&param="x"', {
      method: 'POST',
      body: 'three',
      headers: { 'content-type': 'application/sql' },
    });
    expect(response.status).toBe(200);
    expect(engine.asked).toMatchObject([{ sql: 'three', options: { params: [1, 'x'] } }]);
  });

  test('an SQL error has its position, and too many requests have Retry-After', async () => {
    const app = appWith();
    const bad = await app.request('/exec?query=bad&engine=local&fmt=json');
    expect([bad.status, await bad.json()]).toMatchObject([400, { code: 'invalid_sql', query: 'bad', position: 2 }]);
    const busy = await app.request('/exec?query=busy&engine=local&fmt=json');
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '1']);
  });

  test('an unknown column is 400, and the query result is closed', async () => {
    const response = await appWith().request('/exec?query=three&engine=local&fmt=json&cols=nope');
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'invalid_argument' }]);
    expect(engine.open).toBe(0);
  });

  test('a client that disconnects frees the engine', async () => {
    const response = await appWith().request('/exp?query=long&engine=local&fmt=ndjson');
    const reader = response.body?.getReader();
    await reader?.read();
    expect(engine.open).toBe(1);
    await reader?.cancel();
    expect(engine.open).toBe(0);
  });

  test('HEAD and pages of another origin run no SQL', async () => {
    const app = appWith();
    const target = '/exec?query=three&engine=local&fmt=json';
    expect((await app.request(target, { method: 'HEAD' })).status).toBe(405);
    expect((await app.request(target, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
    expect(engine.asked).toEqual([]);
  });

  test('is 400 without a local engine', async () => {
    const plain = createService({ store: createMemoryStore() });
    const response = await createExecApp({ service: plain }).request('/exec?query=x&engine=local&fmt=json');
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'invalid_argument' }]);
    await plain.close();
  });
});

describe('POST /frames with SQL', () => {
  const json = { 'content-type': 'application/json' };
  const keep = (body: unknown, headers: Record<string, string> = {}, search = ''): Promise<Response> =>
    Promise.resolve(
      appWith().request(`/frames${search}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { ...json, ...headers },
      }),
    );

  test('stores the result under the given handle, and returns its location', async () => {
    const response = await keep({ sql: 'three', handle: 'kept', ttl: 60, params: [1, null] });
    expect([response.status, await response.json()]).toMatchObject([201, { handle: 'kept', rows: 3 }]);
    expect(response.headers.get('location')).toBe('/frames/kept');
    expect(engine.asked).toMatchObject([{ sql: 'three', options: { params: [1, null] } }]);
    expect(engine.open).toBe(0);
    const again = await keep({ sql: 'three', engine: 'local', handle: 'kept' });
    expect([again.status, await again.json()]).toMatchObject([200, { handle: 'kept', expires: null }]);
  });

  test.each([
    ['1', 1],
    ['-7', -7],
    ['1.0', { type: 'DOUBLE', text: '1' }],
    ['2.5', { type: 'DOUBLE', text: '2.5' }],
    ['-1E3', { type: 'DOUBLE', text: '-1000' }],
    ['1e300', { type: 'DOUBLE', text: '1e+300' }],
    ['"1.0"', '1.0'],
    ['"\\"1.0"', '"1.0'],
  ])('reads the parameter %s as /exec does', async (text, value) => {
    const body = `{"params":[9.0],"sql":"three","params":[${text},null,true]}`;
    const response = await appWith().request('/frames', { method: 'POST', body, headers: json });
    expect(response.status).toBe(201);
    await appWith().request(`/exec?query=three&engine=local&fmt=json&param=${encodeURIComponent(text)}`);
    const [kept, executed] = engine.asked.map(({ options }) => options?.params);
    expect(kept).toEqual([value, null, true]);
    expect(executed).toEqual([value]);
  });

  test('generates a handle if none is given', async () => {
    const response = await keep({ sql: 'three' });
    const { handle } = (await response.json()) as { handle: string };
    expect([response.status, response.headers.get('location')]).toEqual([201, `/frames/${handle}`]);
    expect(handle).toMatch(/^f-[0-9a-z]{26}$/);
  });

  test('rows are recognized after leading whitespace', async () => {
    const response = await appWith().request('/frames', { method: 'POST', body: ' \n [{"sql":"x"}]', headers: json });
    expect([response.status, await response.json()]).toMatchObject([201, { rows: 1 }]);
    expect(engine.asked).toEqual([]);
  });

  test.each<[body: unknown, status: number, code: string]>([
    [{}, 400, 'invalid_argument'],
    [{ sql: 1 }, 400, 'invalid_argument'],
    [{ sql: 'three', engine: 'nope' }, 400, 'invalid_argument'],
    [{ sql: 'three', more: 1 }, 400, 'invalid_argument'],
    [{ sql: 'three', handle: '../x' }, 400, 'invalid_argument'],
    [{ sql: 'three', ttl: -1 }, 400, 'invalid_argument'],
    [{ sql: 'three', params: [[1]] }, 400, 'invalid_argument'],
    [{ sql: 'three', params: [2 ** 53] }, 400, 'invalid_argument'],
    [{ sql: 'bad' }, 400, 'invalid_sql'],
    [{ sql: 'three', engine: 'tsdb' }, 412, 'tsdb_not_configured'],
    [{ sql: 'three', engine: 'scheduler' }, 412, 'scheduler_not_configured'],
  ])('%j is %i', async (body, status, code) => {
    const response = await keep(body);
    expect([response.status, await response.json()]).toMatchObject([status, { code }]);
    expect(
      (await service.listFrames({ tenant: 'default', requestId: 'r', signal: new AbortController().signal })).length,
    ).toBe(0);
  });

  test.each<[search: string, ttl: number | null | undefined, seconds: number | undefined | 'refused']>([
    ['?ttl=60', undefined, 60],
    ['?ttl=60', 60, 60],
    ['?fmt=json', 60, 60],
    ['', null, undefined],
    ['?ttl=60', 61, 'refused'],
    ['?ttl=60', null, 'refused'],
    ['?ttl=0', undefined, 'refused'],
    ['?ttl=soon', undefined, 'refused'],
    ['?ttl=60&ttl=60', undefined, 'refused'],
    ['?tll=60', undefined, 'refused'],
    ['?handle=x', undefined, 'refused'],
    ['?engine=tsdb', undefined, 'refused'],
  ])('%j with the ttl %j in the body: seconds to live %j', async (search, ttl, seconds) => {
    const response = await keep({ sql: 'three', ttl }, {}, search);
    const info = (await response.json()) as { created: string; expires: string | null };
    const isKept = seconds !== 'refused';
    expect([response.status, info]).toMatchObject(isKept ? [201, { rows: 3 }] : [400, { code: 'invalid_argument' }]);
    if (!isKept) return;
    const livesMs = info.expires === null ? undefined : Date.parse(info.expires) - Date.parse(info.created);
    expect(livesMs === undefined ? undefined : Math.round(livesMs / 1000)).toBe(seconds);
  });

  test('NDJSON with fmt=ndjson is rows, whatever its content type', async () => {
    const response = await keep({ sql: 'x' }, {}, '?fmt=ndjson');
    expect([response.status, await response.json()]).toMatchObject([201, { columns: [{ name: 'sql' }] }]);
    expect(engine.asked).toEqual([]);
  });

  test('conditional headers apply', async () => {
    await keep({ sql: 'three', handle: 'kept' });
    const response = await keep({ sql: 'three', handle: 'kept' }, { 'if-none-match': '*' });
    expect([response.status, await response.json()]).toMatchObject([409, { code: 'handle_exists' }]);
  });
});
