import type { Authenticator, Permission } from '@svc/auth';
import type { Call, Engine, StatementMonitor } from '@svc/frames';
import type { TsdbProxy, TsdbResponse } from '@svc/tsdb-proxy';
import { tableFromArrays } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { serviceWith } from '../test/service-with.ts';
import type { ServiceEvent } from './index.ts';

const ROWS = tableFromArrays({ id: Int32Array.of(1) });

/** Runs statements until they are cancelled, and shows their monitors by their SQL. */
function createEndless(): Engine & { readonly monitors: Map<string, StatementMonitor> } {
  const monitors = new Map<string, StatementMonitor>();
  return {
    monitors,
    query({ signal }, sql, { monitor } = {}) {
      if (monitor !== undefined) monitors.set(sql, monitor);
      if (sql === 'rows') {
        const batches = (async function* () {
          for (;;) yield* ROWS.batches;
        })();
        return Promise.resolve({ schema: ROWS.schema, batches, close: () => undefined });
      }
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    },
    describe: () => Promise.reject(new Error('not used')),
    close: async () => undefined,
  };
}

const authenticator: Authenticator = { authenticate: () => Promise.reject(new Error()), close: () => undefined };

function callOf(tenant: string, requestId = 'r', permissions: readonly Permission[] = ['read']): Call {
  const caller = { id: `t-${tenant}`, tenant, permissions: new Set(permissions) };
  return { tenant, caller, requestId, signal: new AbortController().signal };
}

function started() {
  const engine = createEndless();
  const events: ServiceEvent[] = [];
  const engines = { local: engine, scheduler: engine };
  const service = serviceWith({ engines, authenticator, observe: (event) => events.push(event) });
  return { service, engine, events };
}

describe('listQueries', () => {
  test('shows the state of a statement as its engine reports it', async () => {
    const { service, engine } = started();
    const call = callOf('alpha', 'q-1');
    const ended = expect(service.query(call, 'x')).rejects.toMatchObject({ code: 'cancelled' });
    const monitor = engine.monitors.get('x');
    const base = { id: 'q-1', tenant: 'alpha', caller: 't-alpha', engine: 'local', rows: 0, bytes: 0, sql: 'x' };
    expect(await service.listQueries(call)).toEqual([
      { ...base, state: 'running', elapsedMs: expect.any(Number) as number },
    ]);
    let position = 2;
    monitor?.queued(() => ({ position, length: 5 }));
    expect(await service.findQuery(call, 'q-1')).toMatchObject({ state: 'queued', queue: { position: 2, length: 5 } });
    position = 1;
    expect(await service.findQuery(call, 'q-1')).toMatchObject({ queue: { position: 1 } });
    monitor?.running();
    monitor?.progressed({ fraction: 0.25, rowsProcessed: 1, rowsTotal: 4 });
    const running = await service.findQuery(call, 'q-1');
    expect(running).toMatchObject({ state: 'running', progress: { fraction: 0.25 } });
    expect(running).not.toHaveProperty('queue');
    monitor?.queued(() => ({ position: 1, length: 1 }));
    expect(await service.findQuery(call, 'q-1')).not.toHaveProperty('progress');
    await service.cancelQuery(call, 'q-1');
    await ended;
    expect(await service.listQueries(call)).toEqual([]);
  });

  test('shows a statement that sends its rows, until its result is closed', async () => {
    const { service } = started();
    const call = callOf('alpha');
    const result = await service.query(call, 'rows');
    await result.batches[Symbol.asyncIterator]().next();
    result.sent(10);
    expect(await service.listQueries(call)).toMatchObject([{ state: 'sending', rows: 1, bytes: 10 }]);
    result.close();
    expect(await service.listQueries(call)).toEqual([]);
  });

  test('has the oldest first, and findQuery the newest of one id', async () => {
    const { service } = started();
    const call = callOf('alpha', 'same');
    const all = ['a', 'b'].map((sql) => expect(service.query(call, sql)).rejects.toMatchObject({ code: 'cancelled' }));
    expect((await service.listQueries(call)).map(({ sql }) => sql)).toEqual(['a', 'b']);
    expect(await service.findQuery(call, 'same')).toMatchObject({ sql: 'b' });
    await service.cancelQuery(call, 'same');
    await Promise.all(all);
  });
});

describe('a caller', () => {
  test.each<[string, Call, number]>([
    ['of the tenant', callOf('alpha'), 1],
    ['of the tenant that may use the scheduler, too', callOf('alpha', 'r', ['read', 'scheduler']), 2],
    ['of the tenant that may only write', callOf('alpha', 'r', ['write']), 0],
    ['of the tenant that may only use the database', callOf('alpha', 'r', ['tsdb']), 0],
    ['of another tenant', callOf('beta', 'r', ['read', 'scheduler', 'tsdb', 'write']), 0],
    ['of another tenant that is an administrator', callOf('beta', 'r', ['admin']), 2],
  ])('%s sees and cancels what it could run itself', async (_who, call, count) => {
    const { service, events } = started();
    const owner = callOf('alpha', 'q', ['read', 'scheduler']);
    const local = service.query(owner, 'x');
    const scheduler = service.query({ ...owner, requestId: 's' }, 'y', { engine: 'scheduler' });
    for (const query of [local, scheduler]) query.catch(() => undefined);
    expect(await service.listQueries(call)).toHaveLength(count);
    const unknown = await service.cancelQuery(call, 'unknown').catch((error: unknown) => error);
    expect(unknown).toMatchObject({ code: 'query_not_found', message: 'There is no running query "unknown".' });
    if (count === 0) {
      await expect(service.findQuery(call, 'q')).rejects.toMatchObject({
        code: 'query_not_found',
        message: 'There is no running query "q".',
      });
      await expect(service.cancelQuery(call, 'q')).rejects.toMatchObject({ code: 'query_not_found' });
      expect(await service.listQueries(owner)).toHaveLength(2);
    } else {
      await service.cancelQuery(call, 'q');
      await expect(local).rejects.toMatchObject({ code: 'cancelled' });
      expect(await service.listQueries(owner)).toMatchObject([{ id: 's' }]);
    }
    const audited = events.flatMap((event) => (event.kind === 'audited' ? [event.operation] : []));
    const isAdmin = call.caller?.permissions.has('admin') === true;
    expect(audited).toEqual(isAdmin ? ['listQueries', 'cancelQuery', 'cancelQuery'] : []);
    await service.cancelQuery(owner, 's');
  });
});

test('a query that was cancelled while it sends rows fails with cancelled, and its event says so', async () => {
  const { service, events } = started();
  const call = callOf('alpha', 'q');
  const result = await service.query(call, 'rows');
  const rows = result.batches[Symbol.asyncIterator]();
  await rows.next();
  await service.cancelQuery(call, 'q');
  expect(events.filter(({ kind }) => kind === 'query_ended')).toMatchObject([{ outcome: 'cancelled', rows: 1 }]);
  await expect(rows.next()).rejects.toMatchObject({ code: 'cancelled' });
  result.close();
  expect(events.filter(({ kind }) => kind === 'query_ended')).toHaveLength(1);
});

test('forwarded SQL that was cancelled fails with cancelled, even if its whole response arrives before the proxy notices', async () => {
  const events: ServiceEvent[] = [];
  let arrive = (_response: TsdbResponse): void => undefined;
  const arrival = new Promise<TsdbResponse>((resolve) => (arrive = resolve));
  const tsdb: TsdbProxy = { forward: () => arrival, close: async () => undefined };
  const service = serviceWith({ tsdb, authenticator, observe: (event) => events.push(event) });
  const call = callOf('alpha', 'q', ['tsdb']);
  const answered = service.forward(call, { path: '/exec', params: [['query', 'x']] });
  await service.cancelQuery(call, 'q');
  arrive({ status: 200, headers: {}, body: ReadableStream.from([Buffer.from('{}')]) });
  await expect(answered).rejects.toMatchObject({ code: 'cancelled' });
  expect(events.filter(({ kind }) => kind === 'query_ended')).toMatchObject([{ outcome: 'cancelled' }]);
  expect(await service.listQueries(call)).toEqual([]);
});
