import { ServiceError } from '@svc/errors';
import { createMemoryStore, type Engine, type FileUpload, type Store, streamFromTable } from '@svc/frames';
import { readRows } from '@svc/frames/testing';
import type { TsdbProxy, TsdbRequest } from '@svc/tsdb-proxy';
import { type RecordBatch, tableFromArrays } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { call, serviceWith } from '../test/service-with.ts';
import { createService, type EngineName, type ServiceEvent } from './index.ts';

/** Answers every statement with the same three rows. */
function createThreeRows(): Engine & { open: number; isClosed: boolean } {
  return {
    open: 0,
    isClosed: false,
    async query() {
      this.open += 1;
      const stream = streamFromTable(tableFromArrays({ id: Int32Array.of(1, 2, 3), n: Int32Array.of(7, 8, 9) }));
      return { ...stream, close: () => void (this.open -= 1) };
    },
    async describe() {
      const { schema } = tableFromArrays({ id: Int32Array.of(1) });
      return { schema, parameters: schema };
    },
    async close() {
      this.isClosed = true;
    },
  };
}

describe('query', () => {
  test('returns the requested rows and columns, and reports an event', async () => {
    const events: ServiceEvent[] = [];
    const engine = createThreeRows();
    const service = serviceWith({ engines: { local: engine }, observe: (event) => events.push(event) });
    const answer = await service.query(call, 'x', { offset: 1, limit: 1, columns: ['n'] });
    expect(await readRows(answer)).toEqual([[8]]);
    answer.close();
    expect(engine.open).toBe(0);
    expect(events).toMatchObject([{ kind: 'query_ended', engine: 'local', tenant: 'default', outcome: 'ok', rows: 1 }]);
  });

  test('an engine that is not configured is refused with its own code', async () => {
    const service = serviceWith();
    expect(service.engines).toEqual([]);
    await expect(service.query(call, 'x')).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(service.query(call, 'x', { engine: 'scheduler' })).rejects.toMatchObject({
      code: 'scheduler_not_configured',
    });
    await expect(service.describeQuery(call, 'x')).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  test('SQL that names no engine runs on the only one, else on local', async () => {
    const run = async (...names: readonly EngineName[]): Promise<string[]> => {
      const asked: string[] = [];
      const engines = names.map((name) => {
        const engine = createThreeRows();
        const counted: Engine = {
          ...engine,
          query: (...args) => (asked.push(name), engine.query(...args)),
          describe: (...args) => (asked.push(name), engine.describe(...args)),
        };
        return [name, counted];
      });
      const service = serviceWith({ engines: Object.fromEntries(engines) });
      (await service.query(call, 'x')).close();
      await service.keepQuery(call, 'x', { handle: 'kept' });
      await service.appendQuery(call, 'kept', 'x');
      await service.describeQuery(call, 'x');
      return asked;
    };
    expect(await run('scheduler')).toEqual(Array.from({ length: 4 }, () => 'scheduler'));
    expect(await run('local', 'scheduler')).toEqual(Array.from({ length: 4 }, () => 'local'));
  });

  test('a result whose reader pauses for too long is closed, and fails', async () => {
    const engine = createThreeRows();
    const batch = tableFromArrays({ id: Int32Array.of(1) }).batches[0];
    const endless: Engine = {
      ...engine,
      async query() {
        const { schema } = tableFromArrays({ id: Int32Array.of(1) });
        async function* batches(): AsyncGenerator<RecordBatch> {
          for (;;) if (batch) yield batch;
        }
        engine.open += 1;
        return { schema, batches: batches(), close: () => void (engine.open -= 1) };
      },
    };
    const service = serviceWith({ engines: { local: endless }, idleTimeoutMs: 20 });
    const { batches } = await service.query(call, 'x');
    const reader = batches[Symbol.asyncIterator]();
    await reader.next();
    await expect.poll(() => engine.open).toBe(0);
    await expect(reader.next()).rejects.toMatchObject({ code: 'deadline_exceeded' });
  });

  test('engines are closed with the service', async () => {
    const engine = createThreeRows();
    const service = createService({ store: createMemoryStore(), engines: { local: engine } });
    await service.close();
    expect(engine.isClosed).toBe(true);
  });
});

describe('keepQuery with the time-series database', () => {
  /** A store that records the file it is given. */
  function createFileStore(): Store & { file: string } {
    const memory = createMemoryStore();
    return {
      ...memory,
      file: '',
      fileFormats: ['parquet'],
      async put(ref, source, options) {
        const { body } = source as FileUpload;
        for await (const chunk of body) this.file += Buffer.from(chunk).toString();
        return memory.put(ref, streamFromTable(tableFromArrays({ id: Int32Array.of(1) })), options);
      },
    };
  }

  function databaseThat(
    status: number,
    contentType: string,
    text: string,
  ): TsdbProxy & { readonly requests: TsdbRequest[]; cancelled: number } {
    return {
      requests: [],
      cancelled: 0,
      async forward(_call, request) {
        if ('params' in request) this.requests.push(request);
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(new TextEncoder().encode(text));
            controller.close();
          },
          cancel: () => void (this.cancelled += 1),
        });
        return { status, headers: { 'content-type': contentType }, body };
      },
      close: async () => {},
    };
  }

  test('requests a Parquet export, and puts it like any Parquet file', async () => {
    const tsdb = databaseThat(200, 'application/vnd.apache.parquet', 'PAR1…');
    const store = createFileStore();
    const service = serviceWith({ store, tsdb });
    const { info } = await service.keepQuery(call, 'select 1', { engine: 'tsdb', handle: 'kept' });
    expect([info.handle, store.file]).toEqual(['kept', 'PAR1…']);
    expect(tsdb.requests).toEqual([
      {
        path: '/exp',
        params: [
          ['query', 'select 1'],
          ['fmt', 'parquet'],
        ],
      },
    ]);
  });

  test.each<[status: number, contentType: string, text: string, expected: object]>([
    [
      400,
      'application/json',
      '{"query":"x","error":"bad","position":3}',
      { code: 'invalid_sql', message: 'bad', position: 3 },
    ],
    [200, 'application/json', '{"query":"","error":"empty query"}', { code: 'invalid_sql', message: 'empty query' }],
    [500, 'text/html', '<h1>no</h1>', { code: 'tsdb_failed', message: expect.stringContaining('500') }],
    [200, 'text/plain', '', { code: 'tsdb_failed' }],
    [403, 'application/json', '[]', { code: 'tsdb_failed' }],
    [403, 'application/json', '{"error":"read only"}', { code: 'permission_denied', message: 'read only' }],
    [500, 'application/json', '{"error":"oops"}', { code: 'tsdb_failed' }],
  ])('%i %s %s fails and stores nothing', async (status, contentType, text, expected) => {
    const service = serviceWith({ store: createFileStore(), tsdb: databaseThat(status, contentType, text) });
    await expect(service.keepQuery(call, 'x', { engine: 'tsdb' })).rejects.toMatchObject(expected);
    expect(await service.listFrames(call)).toEqual([]);
  });

  test('a refused put closes the response of the database, and sends no SQL if the refusal is known before', async () => {
    const tsdb = databaseThat(200, 'application/vnd.apache.parquet', 'PAR1…');
    const store = createFileStore();
    const service = serviceWith({ store, tsdb });
    await service.keepQuery(call, 'x', { engine: 'tsdb', handle: 'kept' });
    await expect(
      service.keepQuery(call, 'x', { engine: 'tsdb', handle: 'kept', ifAbsent: true }),
    ).rejects.toMatchObject({
      code: 'handle_exists',
    });
    expect(tsdb.requests).toHaveLength(1);
    const refusal = new ServiceError('permission_denied', 'No.');
    const refusing = serviceWith({ store: { ...store, put: () => Promise.reject(refusal) }, tsdb });
    await expect(refusing.keepQuery(call, 'x', { engine: 'tsdb' })).rejects.toBe(refusal);
    expect(tsdb.cancelled).toBe(1);
  });

  test('accepts no parameters, and at most as many bytes as an upload', async () => {
    const tsdb = databaseThat(200, 'application/vnd.apache.parquet', 'PAR1…');
    const service = serviceWith({ store: createFileStore(), tsdb, maxUploadBytes: 3 });
    await expect(service.keepQuery(call, 'x', { engine: 'tsdb', params: [1] })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    await expect(service.keepQuery(call, 'x', { engine: 'tsdb' })).rejects.toMatchObject({ code: 'payload_too_large' });
  });
});
