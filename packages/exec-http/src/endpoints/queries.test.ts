import { createMemoryStore, type Engine, type StatementMonitor, streamFromTable } from '@svc/frames';
import { createService, type Service, type ServiceOptions } from '@svc/service';
import { tableFromArrays } from 'apache-arrow';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createExecApp, type ExecAppOptions } from '../index.ts';

const ROWS = tableFromArrays({ id: Int32Array.of(1, 2, 3) });

/** Answers `rows` at once; any other statement runs until it is cancelled. */
function createEngine(): Engine & { monitor: StatementMonitor | undefined } {
  return {
    monitor: undefined,
    query({ signal }, sql, { monitor } = {}) {
      this.monitor = monitor;
      if (sql === 'rows') return Promise.resolve({ ...streamFromTable(ROWS), close: () => undefined });
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    },
    describe: () => Promise.reject(new Error('not used')),
    close: async () => undefined,
  };
}

function appWith(parts: Partial<ServiceOptions> = {}, options: Partial<ExecAppOptions> = {}) {
  const engine = createEngine();
  const service: Service = createService({
    store: createMemoryStore(),
    engines: { local: engine },
    version: '1.2.3',
    ...parts,
  });
  onTestFinished(() => service.close());
  return { engine, service, app: createExecApp({ service, ...options }) };
}

const SQL = '/exec?fmt=json&engine=local&query=';

describe('/queries', () => {
  test('shows a query under the id of its request, and the SQL only on request', async () => {
    const { app, engine } = appWith();
    const answer = app.request(`${SQL}select+1`, { headers: { 'x-request-id': 'my/query' } });
    await expect.poll(() => engine.monitor).toBeDefined();
    engine.monitor?.queued(() => ({ position: 3, length: 5 }));
    const list = await app.request('/queries');
    expect([list.status, list.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const elapsedMs = expect.any(Number) as number;
    const base = { id: 'my/query', engine: 'local', elapsedMs, rows: 0, bytes: 0 };
    expect(await list.json()).toEqual({
      queries: [{ ...base, state: 'queued', queuePosition: 3, progress: null }],
    });
    engine.monitor?.running();
    engine.monitor?.progressed({ fraction: 0.5, rowsProcessed: 5, rowsTotal: 10 });
    const one = await app.request('/queries/my%2Fquery?sql=true');
    expect(await one.json()).toEqual({
      ...base,
      state: 'running',
      progress: 0.5,
      rowsProcessed: 5,
      rowsTotal: 10,
      sql: 'select 1',
    });
    const cancelled = await app.request('/queries/my%2Fquery', { method: 'DELETE' });
    expect([cancelled.status, await cancelled.text()]).toEqual([204, '']);
    const refused = await answer;
    expect([refused.status, await refused.json()]).toMatchObject([
      499,
      { code: 'cancelled', error: 'The query was cancelled by another request.' },
    ]);
    expect(await (await app.request('/queries')).json()).toEqual({ queries: [] });
  });

  test('a list with long SQL is sent in pieces', async () => {
    const { app } = appWith();
    const texts = Array.from({ length: 8 }, (_, i) => `select ${i} -- ${'x'.repeat(100_000)}`);
    for (const query of texts)
      void app.request('/exec?fmt=json&engine=local', {
        method: 'POST',
        body: query,
        headers: { 'content-type': 'text/plain' },
      });
    await expect
      .poll(async () => (await app.request('/queries')).json())
      .toMatchObject({ queries: { length: texts.length } });
    const { body } = await app.request('/queries?sql=true');
    const pieces: Uint8Array[] = [];
    for await (const piece of body ?? []) pieces.push(piece);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(250_000);
    const { queries } = JSON.parse(Buffer.concat(pieces).toString()) as { queries: { sql: string }[] };
    expect(queries.map(({ sql }) => sql).toSorted()).toEqual(texts);
  });

  test.each(['GET', 'DELETE'])('%s of an id that does not run is query_not_found', async (method) => {
    const response = await appWith().app.request('/queries/none', { method });
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { code: 'query_not_found', error: 'There is no running query "none".' },
    ]);
  });

  test.each([
    ['/queries?sql=1', 'invalid_argument'],
    ['/queries?sql=true&sql=true', 'invalid_argument'],
    ['/queries/%zz', 'invalid_argument'],
  ])('%s is %s', async (path, code) => {
    const response = await appWith().app.request(path);
    expect([response.status, await response.json()]).toMatchObject([400, { code }]);
  });
});

describe('Server-Timing', () => {
  const TIMING = /^queue;dur=\d+\.\d{3}, execute;dur=\d+\.\d{3}$/;
  const forward = async (headers: Record<string, string>) => ({ status: 200, headers, body: null });

  test.each(['/exec?fmt=json', '/exp?fmt=csv', '/exp?fmt=arrow'])('is in the answer of SQL: %s', async (path) => {
    const response = await appWith().app.request(`${path}&engine=local&query=rows`);
    expect(response.headers.get('server-timing')).toMatch(TIMING);
  });

  test('is in the answer of a stored query', async () => {
    const response = await appWith().app.request('/frames', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"sql":"rows"}',
    });
    expect([response.status, response.headers.get('server-timing')]).toEqual([201, expect.stringMatching(TIMING)]);
  });

  test('is in the answer of the database, after its own', async () => {
    const { app } = appWith({ tsdb: { forward: () => forward({}), close: async () => undefined } });
    expect((await app.request('/exec?fmt=json&query=x')).headers.get('server-timing')).toMatch(TIMING);
    const own = appWith({
      tsdb: { forward: () => forward({ 'server-timing': 'db;dur=5' }), close: async () => undefined },
    });
    const header = (await own.app.request('/exec?fmt=json&query=x')).headers.get('server-timing');
    expect(header).toMatch(/^db;dur=5, queue;dur=0\.000, execute;dur=\d/);
  });

  test('is not in other answers', async () => {
    const { app } = appWith();
    for (const path of ['/frames', '/chk', `${SQL}rows&engine=none`]) {
      expect((await app.request(path)).headers.get('server-timing')).toBeNull();
    }
  });
});

describe('/info', () => {
  test('says what the server can do', async () => {
    const { app } = appWith({}, { maxRows: 1000, info: { authentication: [], limits: { sqlTimeoutMs: 60_000 } } });
    expect(await (await app.request('/info')).json()).toEqual({
      version: '1.2.3',
      engines: ['local'],
      defaultEngine: 'tsdb',
      formats: { in: ['json', 'ndjson', 'arrow'], out: ['json', 'ndjson', 'csv', 'arrow'], files: [] },
      limits: { maxRows: 1000, maxUploadBytes: 10 * 1024 ** 3, sqlTimeoutMs: 60_000 },
      authentication: { isRequired: false, kinds: [] },
    });
  });

  test('has null for no limit, and does not know what the host does not say', async () => {
    const authenticate = () => ({ id: 'ada', tenant: 'alpha', permissions: new Set(['read'] as const) });
    const { app } = appWith({}, { authenticate, defaultEngine: 'local' });
    expect(await (await app.request('/info')).json()).toMatchObject({
      defaultEngine: 'local',
      limits: { maxRows: null },
      authentication: { isRequired: true },
    });
  });

  test('names the tenant and the permissions of the caller', async () => {
    const authenticate = () => ({ id: 'ada', tenant: 'alpha', permissions: new Set(['write', 'read'] as const) });
    const { app } = appWith({}, { authenticate });
    expect(await (await app.request('/info')).json()).toMatchObject({
      caller: { tenant: 'alpha', permissions: ['read', 'write'] },
    });
  });
});

describe('the list of frames', () => {
  const put = (app: ReturnType<typeof createExecApp>, handle: string) =>
    app.request(`/frames/${handle}`, { method: 'PUT', body: '[{"id":1}]' });

  test('has an etag that changes with its frames, and is 304 for a client that has it', async () => {
    const { app } = appWith();
    await put(app, 'a');
    const first = await app.request('/frames');
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    const again = await app.request('/frames', { headers: { 'if-none-match': etag } });
    expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, '']);
    await put(app, 'b');
    const changed = await app.request('/frames', { headers: { 'if-none-match': etag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.get('etag')).not.toBe(etag);
    await put(app, 'a');
    expect((await app.request('/frames')).headers.get('etag')).not.toBe(changed.headers.get('etag'));
  });

  test('is 304 also for the etag of its compressed form', async () => {
    const { app } = appWith();
    for (let i = 0; i < 20; i++) await put(app, `frame-${i}`);
    const headers = { 'accept-encoding': 'gzip' };
    const packed = await app.request('/frames', { headers });
    const etag = packed.headers.get('etag') ?? '';
    expect([packed.headers.get('content-encoding'), etag]).toEqual(['gzip', expect.stringMatching(/-gzip"$/)]);
    const again = await app.request('/frames', { headers: { ...headers, 'if-none-match': etag } });
    expect([again.status, again.headers.get('etag')]).toEqual([304, etag]);
  });

  test('leaves the columns out on request', async () => {
    const { app } = appWith();
    await put(app, 'a');
    const { frames } = (await (await app.request('/frames?columns=false')).json()) as { frames: object[] };
    expect(frames).toMatchObject([{ handle: 'a', rows: 1 }]);
    expect(frames[0]).not.toHaveProperty('columns');
    expect((await app.request('/frames?columns=no')).status).toBe(400);
  });
});
