import { ServiceError } from '@svc/errors';
import { createMemoryStore, type Engine, type Store, streamFromTable } from '@svc/frames';
import { withResolvers } from '@svc/frames/async';
import { readRows } from '@svc/frames/testing';
import { TsdbCredentialsError, type TsdbProxy, type TsdbResponse } from '@svc/tsdb-proxy';
import { tableFromArrays } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.ts';
import { call, serviceWith } from '../test/service-with.ts';
import { createService, type ServiceEvent } from './index.ts';

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text);
}

const json = (...texts: string[]): { format: 'json'; body: AsyncIterable<Uint8Array> } => ({
  format: 'json',
  body: chunks(...texts),
});

describe('frames', () => {
  test('a frame can be read by the tenant that put it and by no other', async () => {
    const service = serviceWith();
    await service.putFrame(call, 't', json('[{"id":', '1}]'));
    const reading = await service.readFrame(call, 't');
    expect(await readRows(reading.stream)).toEqual([[1n]]);
    reading.close();
    await expect(service.readFrame({ ...call, tenant: 'other' }, 't')).rejects.toMatchObject({
      code: 'handle_not_found',
    });
    expect(await service.listFrames({ ...call, tenant: 'other' })).toEqual([]);
  });

  describe('a handle that does not exist', () => {
    const plain = 'GET /frames lists all handles.';
    const suggested = `Did you mean "trades"? ${plain}`;

    test.each([
      ['trade', suggested],
      ['tradse', suggested],
      ['Trades!', suggested],
      ['orders', plain],
      ['tr', plain],
      ['t'.repeat(200), plain],
    ])('%s has the nearest one in its hint', async (handle, hint) => {
      const service = serviceWith();
      await service.putFrame(call, 'trades', json('[{"id":1}]'));
      await expect(service.readFrame(call, handle)).rejects.toMatchObject({ code: 'handle_not_found', hint });
    });

    test('has none of another tenant, nor one for a caller who may not read', async () => {
      const service = serviceWith();
      await service.putFrame(call, 'trades', json('[{"id":1}]'));
      const missing = { code: 'handle_not_found', hint: plain };
      await expect(service.readFrame({ ...call, tenant: 'other' }, 'trade')).rejects.toMatchObject(missing);
      const writer = { ...call, caller: { id: 'w', tenant: call.tenant, permissions: new Set(['write'] as const) } };
      await expect(service.dropFrame(writer, 'trade')).rejects.toMatchObject(missing);
      await expect(service.readFrame(writer, 'trade')).rejects.toMatchObject({ code: 'permission_denied' });
    });

    test('is described with the same hint', async () => {
      const service = serviceWith();
      await service.putFrame(call, 'trades', json('[{"id":1}]'));
      await expect(service.describeFrame(call, 'trade')).rejects.toMatchObject({ hint: suggested });
    });
  });

  test('an invalid handle is not found for a reader and invalid elsewhere', async () => {
    const service = serviceWith();
    await expect(service.readFrame(call, '../x')).rejects.toMatchObject({ code: 'handle_not_found' });
    for (const operation of [
      () => service.describeFrame(call, '../x'),
      () => service.dropFrame(call, '../x'),
      () => service.renameFrame(call, '../x', 'y'),
      () => service.renameFrame(call, 'x', '../y'),
      () => service.expireFrame(call, '../x', 1),
      () => service.putFrame(call, '../x', json('[]')),
    ]) {
      await expect(operation()).rejects.toMatchObject({ code: 'invalid_argument' });
    }
  });

  test('an upload longer than the limit is refused, at once if its length is known', async () => {
    const service = serviceWith({ maxUploadBytes: 10 });
    let isRead = false;
    const body = (async function* () {
      isRead = true;
      yield* chunks('[]');
    })();
    await expect(service.putFrame(call, 't', { format: 'json', body, bytes: 11 })).rejects.toMatchObject({
      code: 'payload_too_large',
    });
    expect(isRead).toBe(false);
    await expect(service.putFrame(call, 't', json('[', ' '.repeat(10), ']'))).rejects.toMatchObject({
      code: 'payload_too_large',
    });
    expect(await service.listFrames(call)).toEqual([]);
  });

  for (const [options, rows] of byTier([
    ['an existing frame and ifAbsent', 'there', { ifAbsent: true }, 'handle_exists'],
    ['no frame and ifPresent', 'none', { ifPresent: true }, 'version_conflict'],
    ['another version', 'there', { ifVersion: 'x' }, 'version_conflict'],
  ] as const)) {
    test.each(rows)(
      'the body of a write is not read if its condition fails: %s',
      options,
      async (_what, handle, condition, code) => {
        const service = serviceWith();
        await service.putFrame(call, 'there', json('[{"id":1}]'));
        let isRead = false;
        const body = (async function* () {
          isRead = true;
          yield* chunks('[]');
        })();
        const upload = { format: 'json', body } as const;
        await expect(service.putFrame(call, handle, upload, condition)).rejects.toMatchObject({ code });
        await expect(service.appendFrame(call, handle, upload, condition)).rejects.toMatchObject({ code });
        expect(isRead).toBe(false);
      },
    );
  }

  test('a refused put releases its decoder, so that any number of them can follow', async () => {
    const service = serviceWith();
    await service.putFrame(call, 't', json('[{"id":1}]'));
    for (let i = 0; i < 20; i++) {
      await expect(service.putFrame(call, 't', json('[{"id":2}]'), { ifAbsent: true })).rejects.toMatchObject({
        code: 'handle_exists',
      });
    }
    await service.putFrame(call, 't', json('[{"id":3}]'));
  });

  test('a put whose call is cancelled leaves nothing behind', async () => {
    const service = serviceWith();
    const controller = new AbortController();
    const body = (async function* () {
      yield* chunks('[{"id":1}');
      controller.abort(new Error('gone'));
      yield* chunks(']');
    })();
    await expect(
      service.putFrame({ ...call, signal: controller.signal }, 't', { format: 'json', body }),
    ).rejects.toThrow();
    expect(await service.listFrames(call)).toEqual([]);
  });

  test('a frame whose read cannot begin is closed', async () => {
    const store = createMemoryStore();
    const service = serviceWith({ store });
    await service.putFrame(call, 't', json('[{"id":1}]'));
    await expect(service.readFrame(call, 't', { columns: ['x'] })).rejects.toMatchObject({ code: 'invalid_argument' });
    await service.dropFrame(call, 't');
    expect((await store.usage()).bytes).toBe(0);
  });
});

describe('SQL', () => {
  const request = { path: '/exec', params: [['query', 'select 1']] } as const;
  const proxy = (forward: TsdbProxy['forward']): TsdbProxy => ({ forward, close: async () => {} });

  test('without a database is tsdb_not_configured', async () => {
    const service = serviceWith();
    expect(service.hasTsdb).toBe(false);
    await expect(service.forward(call, request)).rejects.toMatchObject({ code: 'tsdb_not_configured' });
  });

  test('is forwarded with the call, and the response is returned', async () => {
    const answer = { status: 400, headers: {}, body: null };
    const service = serviceWith({
      tsdb: proxy(async (forwarded, asked) => {
        expect([forwarded, asked]).toMatchObject([{ tenant: call.tenant, requestId: call.requestId }, request]);
        return answer;
      }),
    });
    expect(await service.forward(call, request)).toBe(answer);
  });

  test('rejected credentials have their own event', async () => {
    const events: ServiceEvent[] = [];
    const tsdb = proxy(() => Promise.reject(new TsdbCredentialsError()));
    const service = serviceWith({ tsdb, observe: (event) => events.push(event) });
    await expect(service.forward(call, request)).rejects.toMatchObject({ code: 'tsdb_failed' });
    const source = { requestId: 'r-1', tenant: 'default' };
    expect(events).toMatchObject([
      { kind: 'tsdb_refused_credentials', ...source },
      { kind: 'query_forwarded', ...source, status: null, outcome: 'tsdb_failed' },
      { kind: 'query_ended', ...source, engine: 'tsdb', outcome: 'error', code: 'tsdb_failed' },
      { kind: 'audited', ...source, caller: null, operation: 'forward', handle: null, outcome: 'tsdb_failed' },
    ]);
  });
});

describe('events', () => {
  test('have the operation, the request and the frame', async () => {
    const events: ServiceEvent[] = [];
    const service = serviceWith({ observe: (event) => events.push(event) });
    await service.putFrame(call, 't', json('[{"id":1}]'));
    (await service.readFrame(call, 't')).close();
    await service.expireFrame(call, 't', null);
    await service.renameFrame(call, 't', 'u');
    await service.renameFrame(call, 'u', 't');
    await service.dropFrame(call, 't');
    const source = { requestId: 'r-1', tenant: 'default', handle: 't' };
    expect(events.filter(({ kind }) => kind !== 'audited')).toMatchObject([
      { kind: 'frame_put', ...source, rows: 1, created: true },
      { kind: 'frame_opened', ...source, rows: 1 },
      { kind: 'frame_expiry_set', ...source, expires: null },
      { kind: 'frame_renamed', ...source, newHandle: 'u' },
      { kind: 'frame_renamed', ...source, handle: 'u', newHandle: 't' },
      { kind: 'frame_dropped', ...source },
    ]);
  });
});

describe('the life cycle of the service', () => {
  test('stop refuses new operations and lets reads finish', async () => {
    const service = serviceWith();
    await service.putFrame(call, 't', json('[{"id":1}]'));
    const reading = await service.readFrame(call, 't');
    service.stop();
    expect(await readRows(reading.stream)).toEqual([[1n]]);
    reading.close();
    await expect(service.listFrames(call)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await service.health()).toMatchObject({ status: 'stopping', version: 'unknown' });
  });

  test('a call that is already cancelled does not begin', async () => {
    const signal = AbortSignal.abort(new Error('gone'));
    await expect(serviceWith().listFrames({ ...call, signal })).rejects.toThrow('gone');
  });

  test('close closes the store and the proxy', async () => {
    const closed: string[] = [];
    const store: Store = { ...createMemoryStore(), close: async () => void closed.push('store') };
    const tsdb: TsdbProxy = { forward: () => Promise.reject(new Error()), close: async () => void closed.push('tsdb') };
    await createService({ store, tsdb }).close();
    expect(closed).toEqual(['tsdb', 'store']);
  });
});

describe('health reports the faults of the store', () => {
  const damaged = {
    kind: 'damaged_frame' as const,
    message: 'The file of the frame is damaged.',
    tenant: 'default',
    handle: 'a',
  };
  const broken = { kind: 'cannot_write' as const, message: 'The disk can only be read.' };
  test.each([
    ['ok', []],
    ['degraded', [damaged]],
    ['failing', [broken]],
    ['failing', [damaged, broken]],
  ] as const)('%s', async (status, faults) => {
    const store = { ...createMemoryStore(), faults: async () => faults };
    const service = createService({ store });
    const health = await service.health();
    expect(health.status).toBe(status);
    expect(health.parts.store).toEqual({
      status,
      ...(faults.length > 0 && { faults }),
      ...(await store.usage()),
    });
    await service.close();
  });
});

describe('the health of the engines and the database', () => {
  test('has the statements that wait and run', async () => {
    const { promise: mayRun, resolve: run } = withResolvers<void>();
    const engine: Engine = {
      async query(_call, _sql, { monitor } = {}) {
        monitor?.queued(() => ({ position: 1, length: 1 }));
        await mayRun;
        monitor?.running();
        return { ...streamFromTable(tableFromArrays({ id: Int32Array.of(1) })), close: () => undefined };
      },
      describe: () => Promise.reject(new Error('not used')),
      processes: () => 3,
      close: async () => undefined,
    };
    const service = serviceWith({ engines: { local: engine } });
    const local = async (): Promise<unknown> => (await service.health()).parts.local;
    expect(await local()).toEqual({ status: 'configured', running: 0, queued: 0, processes: 3 });
    const starting = service.query(call, 'select 1');
    expect(await local()).toMatchObject({ running: 0, queued: 1 });
    run();
    const result = await starting;
    expect(await local()).toMatchObject({ running: 1, queued: 0 });
    result.close();
    expect(await local()).toMatchObject({ running: 0, queued: 0 });
    expect((await service.health()).parts.scheduler).toEqual({ status: 'not_configured' });
  });

  test('has how the last request to the database ended, unless its client went away', async () => {
    let answer: () => Promise<TsdbResponse> = () => Promise.reject(new ServiceError('tsdb_failed', 'No.'));
    const service = serviceWith({ tsdb: { forward: () => answer(), close: async () => undefined } });
    const forward = () => service.forward(call, { path: '/exec', params: [] }).catch(() => undefined);
    const last = async (): Promise<unknown> => (await service.health()).parts.tsdb.lastOutcome;
    expect(await last()).toBeUndefined();
    await forward();
    expect(await last()).toBe('tsdb_failed');
    answer = async () => ({ status: 200, headers: {}, body: null });
    await forward();
    expect(await last()).toBe('ok');
    answer = () => Promise.reject(new ServiceError('cancelled', 'No.'));
    await forward();
    expect(await last()).toBe('ok');
  });
});
