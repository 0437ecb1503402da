import type { Authenticator } from '@svc/auth';
import { type ErrorCode, ServiceError } from '@svc/errors';
import {
  type Call,
  createMemoryStore,
  type Engine,
  type QueryOptions,
  streamFromTable,
  type TraceContext,
} from '@svc/frames';
import { readRows } from '@svc/frames/testing';
import type { TsdbResponse } from '@svc/tsdb-proxy';
import { type RecordBatch, tableFromArrays } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { call, serviceWith } from '../test/service-with.ts';
import type { EventOf, Service, ServiceEvent, ServiceOptions } from './index.ts';

const EXEC = { path: '/exec', params: [['query', "select 'x' from t where id = 7"]] } as const;
const ROWS = tableFromArrays({ id: Int32Array.of(1, 2, 3) });

/** An engine whose query is the given function. */
function engineOf(query: (call: Call, sql: string, options?: QueryOptions) => ReturnType<Engine['query']>): Engine {
  return { query, describe: () => Promise.reject(new Error('not used')), close: async () => undefined };
}

const threeRows = engineOf(async () => ({ ...streamFromTable(ROWS), close: () => undefined }));
const failing = (code: ErrorCode): Engine => engineOf(() => Promise.reject(new ServiceError(code, 'No.')));

/** Rows without end, until the call is cancelled. */
const endless = engineOf(async ({ signal }) => {
  async function* batches(): AsyncGenerator<RecordBatch> {
    for (;;) {
      signal.throwIfAborted();
      for (const batch of ROWS.batches) yield batch;
    }
  }
  return { schema: ROWS.schema, batches: batches(), close: () => undefined };
});

/** A service, and the events of the statements that ended. */
function observed(parts: Partial<ServiceOptions>) {
  const ended: EventOf<'query_ended'>[] = [];
  const service = serviceWith({ ...parts, observe: (event) => event.kind === 'query_ended' && ended.push(event) });
  return { service, ended };
}

async function readAll(service: Service, given: Call = call): Promise<void> {
  const result = await service.query(given, 'select 1');
  try {
    await readRows(result);
    result.sent(100);
  } finally {
    result.close();
  }
}

describe('a statement of a trace that is recorded', () => {
  const sampled = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', isSampled: true };
  const trace = { ...sampled, isRecorded: true };

  test('has a span of its own, which the engine continues', async () => {
    const seen: (TraceContext | undefined)[] = [];
    const engine = engineOf(async (given) => {
      seen.push(given.trace);
      return { ...streamFromTable(ROWS), close: () => undefined };
    });
    const { service, ended } = observed({ engines: { local: engine } });
    await readAll(service, { ...call, trace });
    expect(seen).toEqual([{ ...trace, spanId: seen[0]?.spanId, parentSpanId: trace.spanId }]);
    expect(seen[0]?.spanId).not.toBe(trace.spanId);
    expect(ended.map((event) => event.trace)).toEqual(seen);
  });

  test('in the time-series database has a second one, for the request', async () => {
    const events: ServiceEvent[] = [];
    const seen: (TraceContext | undefined)[] = [];
    const tsdb = {
      async forward(given: Call) {
        seen.push(given.trace);
        return { status: 200, headers: {}, body: null };
      },
      close: async () => undefined,
    };
    const service = serviceWith({ tsdb, observe: (event) => events.push(event) });
    await service.forward({ ...call, trace }, EXEC);
    const traces = new Map(events.map((event) => [event.kind, 'trace' in event ? event.trace : undefined]));
    const query = traces.get('query_ended');
    expect(query?.parentSpanId).toBe(trace.spanId);
    expect(traces.get('query_forwarded')).toEqual({ ...query, spanId: seen[0]?.spanId, parentSpanId: query?.spanId });
    expect(traces.get('audited')).toEqual(trace);
  });

  test('elsewhere has none', async () => {
    const { service, ended } = observed({ engines: { local: threeRows } });
    await readAll(service, { ...call, trace: sampled });
    await readAll(service);
    expect(ended.map((event) => event.trace)).toEqual([sampled, undefined]);
  });
});

describe('a statement over frames ends once', () => {
  test('with its rows and bytes when its result is closed', async () => {
    const { service, ended } = observed({ engines: { local: threeRows } });
    const result = await service.query(call, "select 'secret'");
    expect(await readRows(result)).toHaveLength(3);
    result.sent(40);
    result.sent(2);
    expect(ended).toEqual([]);
    result.close();
    result.close();
    expect(ended).toMatchObject([
      { requestId: 'r-1', tenant: 'default', engine: 'local', outcome: 'ok', rows: 3, bytes: 42 },
    ]);
    expect(ended[0]).not.toHaveProperty('code');
    expect(ended[0]?.fingerprint()).toBe('select ?');
  });

  test.each([
    ['cancelled', 'cancelled'],
    ['deadline_exceeded', 'timeout'],
    ['out_of_memory', 'oom'],
    ['too_many_requests', 'refused'],
    ['permission_denied', 'refused'],
    ['invalid_sql', 'error'],
    ['unavailable', 'error'],
    ['scheduler_failed', 'error'],
  ] as const)('as %s of its engine: %s', async (code, outcome) => {
    const { service, ended } = observed({ engines: { local: failing(code) } });
    await expect(service.query(call, 'select 1')).rejects.toMatchObject({ code });
    await expect(service.keepQuery(call, 'select 1')).rejects.toMatchObject({ code });
    expect(ended).toMatchObject([
      { outcome, code, rows: 0 },
      { outcome, code, rows: 0 },
    ]);
  });

  test('as refused if its tenant runs too many', async () => {
    const authenticator: Authenticator = {
      authenticate: () => Promise.reject(new Error('not used')),
      limitsOf: () => ({ maxQueries: 0 }),
      close: () => undefined,
    };
    const { service, ended } = observed({ engines: { local: threeRows }, authenticator });
    const caller = { id: 't-1', tenant: 'default', permissions: new Set(['read'] as const) };
    await expect(service.query({ ...call, caller }, 'x')).rejects.toMatchObject({ code: 'too_many_requests' });
    expect(ended).toMatchObject([{ outcome: 'refused', code: 'too_many_requests', caller: 't-1' }]);
  });

  test('as cancelled if its result is not read to the end', async () => {
    const { service, ended } = observed({ engines: { local: endless } });
    const result = await service.query(call, 'select 1');
    await result.batches[Symbol.asyncIterator]().next();
    result.close();
    expect(ended).toMatchObject([{ outcome: 'cancelled', code: 'cancelled', rows: 3 }]);
  });

  test('as ok if the limit, not the result, ends the rows', async () => {
    const { service, ended } = observed({ engines: { local: endless } });
    const result = await service.query(call, 'select 1', { limit: 5 });
    expect(await readRows(result)).toHaveLength(5);
    result.close();
    expect(ended).toMatchObject([{ outcome: 'ok', rows: 5 }]);
  });

  test('with the error of its encoder', async () => {
    const { service, ended } = observed({ engines: { local: endless } });
    const result = await service.query(call, 'select 1');
    result.close(new ServiceError('out_of_disk', 'Full.'));
    expect(ended).toMatchObject([{ outcome: 'error', code: 'out_of_disk' }]);
  });

  test('when its client is gone, even if the reader hangs', async () => {
    const client = new AbortController();
    const { service, ended } = observed({ engines: { local: endless } });
    const result = await service.query({ ...call, signal: client.signal }, 'select 1');
    await result.batches[Symbol.asyncIterator]().next();
    client.abort(new ServiceError('cancelled', 'The client closed the connection.'));
    expect(ended).toMatchObject([{ outcome: 'cancelled' }]);
    result.close();
    expect(ended).toHaveLength(1);
  });

  test('when its reader pauses for too long', async () => {
    const { service, ended } = observed({ engines: { local: endless }, idleTimeoutMs: 1 });
    const result = await service.query(call, 'select 1');
    await result.batches[Symbol.asyncIterator]().next();
    await expect.poll(() => ended).toMatchObject([{ outcome: 'timeout', code: 'deadline_exceeded' }]);
    result.close();
    expect(ended).toHaveLength(1);
  });

  test('when its result is stored, with the bytes of the frame', async () => {
    const { service, ended } = observed({ engines: { local: threeRows } });
    const { info } = await service.keepQuery(call, 'select 1');
    expect(ended).toMatchObject([{ outcome: 'ok', rows: 3, bytes: info.bytes }]);
  });

  test('when its result cannot be stored', async () => {
    const store = { ...createMemoryStore(), put: () => Promise.reject(new ServiceError('out_of_disk', 'Full.')) };
    const { service, ended } = observed({ engines: { local: threeRows }, store });
    await expect(service.keepQuery(call, 'select 1')).rejects.toMatchObject({ code: 'out_of_disk' });
    expect(ended).toMatchObject([{ outcome: 'error', code: 'out_of_disk' }]);
  });

  test('with the time it waited, also if it waited twice', async () => {
    const waiting = engineOf(async (_call, _sql, { monitor } = {}) => {
      for (const _time of [1, 2]) {
        monitor?.queued(() => ({ position: 1, length: 1 }));
        await new Promise((resolve) => setTimeout(resolve, 20));
        monitor?.running();
      }
      return { ...streamFromTable(ROWS), close: () => undefined };
    });
    const { service, ended } = observed({ engines: { local: waiting } });
    await readAll(service);
    expect(ended).toHaveLength(1);
    for (const { waitMs, executeMs, durationMs } of ended) {
      expect(waitMs).toBeGreaterThan(30);
      expect(executeMs).toBeGreaterThanOrEqual(0);
      expect(durationMs).toBeGreaterThanOrEqual(waitMs + executeMs);
    }
  });

  test('not if it is not allowed or its engine is missing: it never began', async () => {
    const { service, ended } = observed({ engines: { local: threeRows } });
    await expect(service.query(call, 'x', { engine: 'scheduler' })).rejects.toMatchObject({
      code: 'scheduler_not_configured',
    });
    await expect(service.keepQuery(call, 'x', { engine: 'tsdb' })).rejects.toMatchObject({
      code: 'tsdb_not_configured',
    });
    expect(ended).toEqual([]);
  });
});

describe('a forwarded statement ends once', () => {
  const tsdb = (response: () => Promise<TsdbResponse>) => ({ forward: response, close: async () => undefined });
  async function* chunks(fails = false): AsyncGenerator<Uint8Array, void> {
    yield Uint8Array.of(1);
    if (fails) throw new ServiceError('tsdb_failed', 'Cut.');
    yield Uint8Array.of(2, 3);
  }
  const streamed =
    (status: number, fails = false) =>
    async () => ({
      status,
      headers: {},
      body: null,
      chunks: chunks(fails),
    });

  test.each([
    [200, { outcome: 'ok' }],
    [400, { outcome: 'error', code: 'invalid_sql' }],
    [403, { outcome: 'refused', code: 'permission_denied' }],
    [500, { outcome: 'error', code: 'tsdb_failed' }],
  ])('by the status %d, when its response is read', async (status, outcome) => {
    const { service, ended } = observed({ tsdb: tsdb(streamed(status)) });
    const { chunks: body } = await service.forward(call, EXEC);
    for (let next = await body?.next(); next?.done === false; next = await body?.next()) expect(ended).toEqual([]);
    await body?.return?.();
    expect(ended).toMatchObject([{ engine: 'tsdb', ...outcome, rows: 0, bytes: 3 }]);
    expect(ended[0]?.fingerprint()).toBe('select ? from t where id = ?');
  });

  test('when its response is cut', async () => {
    const { service, ended } = observed({ tsdb: tsdb(streamed(200, true)) });
    const { chunks: body } = await service.forward(call, EXEC);
    await body?.next();
    await expect(body?.next()).rejects.toThrow('Cut.');
    expect(ended).toMatchObject([{ outcome: 'error', code: 'tsdb_failed', bytes: 1 }]);
  });

  test('when its response is closed, or its client is gone', async () => {
    const client = new AbortController();
    const { service, ended } = observed({ tsdb: tsdb(streamed(200)) });
    await (await service.forward(call, EXEC)).chunks?.return?.();
    await service.forward({ ...call, signal: client.signal }, EXEC);
    client.abort();
    expect(ended).toMatchObject([{ outcome: 'cancelled' }, { outcome: 'cancelled' }]);
  });

  test('with the failure of the database', async () => {
    const refusal = new ServiceError('deadline_exceeded', 'Late.');
    const { service, ended } = observed({ tsdb: tsdb(() => Promise.reject(refusal)) });
    await expect(service.forward(call, EXEC)).rejects.toBe(refusal);
    await expect(service.keepQuery(call, 'select 1', { engine: 'tsdb' })).rejects.toBe(refusal);
    expect(ended).toMatchObject([{ outcome: 'timeout' }, { outcome: 'timeout' }]);
  });
});
