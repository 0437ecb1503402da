import { ServiceError } from '@svc/errors';
import { type Call, type Handle, parseHandle, type PinnableFrames, type PinnedFrame } from '@svc/frames';
import { withResolvers } from '@svc/frames/async';
import { Field, Int64, type RecordBatch, Schema, Table, vectorFromArray } from 'apache-arrow';
import { describe, expect, test, vi } from 'vitest';
import type { BoundStatement, Driver } from './driver.ts';
import { createDriverEngine, type EngineOptions } from './scheduler-engine.ts';

const SCHEMA = new Schema([new Field('n', new Int64(), true)]);
const COUNT = /^SELECT count\(\*\)/;

function batchOf(...values: readonly bigint[]): RecordBatch {
  const [batch] = new Table({ n: vectorFromArray(values, new Int64()) }).batches;
  if (batch === undefined) throw new Error('A table without a batch.');
  return batch;
}

function callOf(signal: AbortSignal = new AbortController().signal, tenant = 'default'): Call {
  return { tenant, requestId: 'r:1', signal };
}

/** Frames under these handles, and which of them are pinned. */
function createFrames(rows: Readonly<Record<string, number>>) {
  const pinned: string[] = [];
  const frames: PinnableFrames = {
    handles: async (tenant) => (tenant === 'default' ? Object.keys(rows).map(parseHandle) : []),
    async pin({ tenant, name }): Promise<PinnedFrame | undefined> {
      const handle = Object.keys(rows).find((one) => one.toLowerCase() === name.toLowerCase());
      if (tenant !== 'default' || handle === undefined) return undefined;
      pinned.push(handle);
      const path = `/frames/default/${handle}.parquet`;
      const release = (): void => void pinned.splice(pinned.indexOf(handle), 1);
      const isOutside = handle === 'outside';
      return {
        handle: handle as Handle,
        version: 'v1',
        rows: rows[handle] ?? 0,
        paths: [isOutside ? '/elsewhere/x.parquet' : path],
        fileSchema: () => SCHEMA,
        release,
      };
    },
  };
  return { frames, pinned };
}

interface Cluster {
  readonly driver: Driver;
  /** The statements that were sent, without the counts. */
  readonly sent: BoundStatement[];
  readonly counted: string[];
  readonly stopped: string[];
}

/** A cluster that sees `seen` rows of every frame. Each statement returns the batches of `answer`. */
function createCluster(options: {
  readonly seen?: bigint;
  readonly noticesMissingFiles?: boolean;
  readonly answer?: (statement: BoundStatement, signal: AbortSignal) => AsyncIterable<RecordBatch>;
  readonly stop?: () => Promise<void>;
}): Cluster {
  const { seen = 3n, noticesMissingFiles = true, stop = async () => {} } = options;
  const sent: BoundStatement[] = [];
  const counted: string[] = [];
  const stopped: string[] = [];
  const answer = options.answer ?? (() => iterate(batchOf(1n), batchOf(2n)));
  return {
    sent,
    counted,
    stopped,
    driver: {
      async query(statement, signal) {
        if (COUNT.test(statement.sql)) {
          counted.push(...statement.frames.map(({ handle }) => handle));
          return { schema: SCHEMA, batches: iterate(batchOf(seen)), stop: async () => {}, noticesMissingFiles };
        }
        sent.push(statement);
        return {
          schema: SCHEMA,
          batches: answer(statement, signal),
          async stop() {
            await stop();
            stopped.push(statement.sql);
          },
        };
      },
      async describe(statement) {
        sent.push(statement);
        return SCHEMA;
      },
      close: async () => {},
    },
  };
}

async function* iterate(...batches: readonly RecordBatch[]): AsyncGenerator<RecordBatch> {
  yield* batches;
}

function engineOf({ driver }: Cluster, frames: PinnableFrames, options: Partial<EngineOptions> = {}) {
  const locate = (path: string): string | undefined => (path.startsWith('/frames') ? `file://${path}` : undefined);
  return createDriverEngine({ driver, dialect: 'spark', readsFiles: true }, { frames, locate, ...options });
}

const unseenTrades = (refusal: string) =>
  [refusal, 'scheduler_failed', 'The scheduler does not see the frame "trades".'] as const;

async function valuesOf(result: { readonly batches: AsyncIterable<RecordBatch> }): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const batch of result.batches) values.push(...(batch.getChildAt(0)?.toArray() ?? []));
  return values;
}

describe('a statement', () => {
  test('is sent with the frames that it names, as the cluster finds them', async () => {
    const cluster = createCluster({});
    const { frames, pinned } = createFrames({ trades: 3, quotes: 3 });
    const result = await engineOf(cluster, frames).query(callOf(), 'SELECT * FROM Trades WHERE n > ?', { params: [1] });
    expect(cluster.sent).toMatchObject([
      {
        sql: 'SELECT * FROM Trades WHERE n > ?',
        params: [1],
        frames: [{ name: 'Trades', handle: 'trades', uris: ['file:///frames/default/trades.parquet'] }],
        tenant: 'default',
        tag: 'svc-r_1',
      },
    ]);
    expect(pinned).toEqual(['trades']);
    expect(await valuesOf(result)).toEqual([1n, 2n]);
    await vi.waitFor(() => expect(pinned).toEqual([]));
    expect(cluster.stopped).toHaveLength(1);
  });

  test('pins a frame once, whatever the letter case of its name', async () => {
    const cluster = createCluster({});
    const { frames, pinned } = createFrames({ trades: 3 });
    const result = await engineOf(cluster, frames).query(callOf(), 'SELECT * FROM trades, TRADES');
    expect(cluster.sent[0]?.frames.map(({ name }) => name)).toEqual(['trades', 'TRADES']);
    expect(pinned).toEqual(['trades']);
    result.close();
  });

  test('counts the rows of each version once', async () => {
    const cluster = createCluster({});
    const { frames } = createFrames({ trades: 3 });
    const engine = engineOf(cluster, frames);
    for (let i = 0; i < 2; i++) (await engine.query(callOf(), 'SELECT * FROM trades')).close();
    expect(cluster.counted).toEqual(['trades']);
  });

  test('counts the rows each time if the cluster reads a missing file as an empty table', async () => {
    const cluster = createCluster({ noticesMissingFiles: false });
    const { frames } = createFrames({ trades: 3 });
    const engine = engineOf(cluster, frames);
    for (let i = 0; i < 2; i++) (await engine.query(callOf(), 'SELECT * FROM trades')).close();
    expect(cluster.counted).toEqual(['trades', 'trades']);
  });

  test('is not sent to a cluster that sees fewer rows', async () => {
    const cluster = createCluster({ seen: 0n });
    const { frames, pinned } = createFrames({ trades: 3 });
    await expect(engineOf(cluster, frames).query(callOf(), 'SELECT * FROM trades')).rejects.toMatchObject({
      code: 'scheduler_failed',
      message: 'The scheduler sees 0 of 3 rows of the frame "trades".',
    });
    expect(cluster.sent).toEqual([]);
    expect(pinned).toEqual([]);
  });

  test('is scheduler_failed if the cluster cannot read the files of a frame', async () => {
    const { driver } = createCluster({});
    const { frames } = createFrames({ trades: 3 });
    const query = (): Promise<never> => Promise.reject(new ServiceError('invalid_sql', 'No files found.'));
    const engine = createDriverEngine(
      { driver: { ...driver, query }, dialect: 'spark', readsFiles: true },
      { frames, locate: (path) => path },
    );
    await expect(engine.query(callOf(), 'SELECT * FROM trades')).rejects.toMatchObject({
      code: 'scheduler_failed',
      message: 'The scheduler cannot read the frame "trades": No files found.',
    });
  });

  test.each<readonly [refusal: string, code: string, message: string]>([
    ['There is no frame "trades".', 'scheduler_failed', 'The scheduler does not see the frame "trades".'],
    [
      "table 'datafusion.public.trades' not found",
      'scheduler_failed',
      'The scheduler does not see the frame "trades".',
    ],
    ...['Table not found: trades', 'no such table: trades', 'relation "trades" does not exist'].map(unseenTrades),
    ...['table does not exist [table=TRADES]', "Table `db`.`trades` doesn't exist"].map(unseenTrades),
    ...["Unknown table 'db.trades'", 'Table with name trades does not exist!\nDid you mean "quotes"?'].map(
      unseenTrades,
    ),
    ...[
      'There is no frame "quotes".',
      'trades has no column x.',
      // `a` and `trades` are frames; the missing ones have other names.
      'Table with name quotes does not exist!\nDid you mean "trades"?\n\nLINE 1: SELECT * FROM a, trades, quotes',
      'Table with name trades2 does not exist!',
      "table 'datafusion.public.my_trades' not found",
      'Referenced column "price" not found in FROM clause!\nCandidate bindings: "trades.x"',
      "Column 'x' not found in table 'trades'",
      'column "x" of relation "trades" does not exist',
      'Scalar Function with name trades does not exist!',
      'Table Function with name trades does not exist!',
    ].map((refusal) => [refusal, 'invalid_sql', refusal] as const),
  ])('on the tables of another engine, %j is %s', async (refusal, code, message) => {
    const { driver } = createCluster({});
    const { frames, pinned } = createFrames({ a: 3, trades: 3 });
    const fail = (): Promise<never> => Promise.reject(new ServiceError('invalid_sql', refusal));
    const engine = createDriverEngine(
      { driver: { ...driver, query: fail, describe: fail }, dialect: 'standard', readsFiles: false },
      { frames, locate: () => undefined },
    );
    const sql = 'SELECT * FROM a, trades, quotes';
    await expect(engine.query(callOf(), sql)).rejects.toMatchObject({ code, message, query: sql });
    await expect(engine.describe(callOf(), sql)).rejects.toMatchObject({ code, message });
    // Frames of other tenants are not told apart from those that do not exist.
    await expect(engine.query(callOf(undefined, 'other'), sql)).rejects.toMatchObject({ code: 'invalid_sql' });
    expect(pinned).toEqual([]);
  });

  test.each([
    ['SELECT * FROM outside', {}, 'scheduler_failed', 'The cluster cannot read the frame "outside".'],
    ['SELECT * FROM other', {}, 'invalid_sql', 'There is no frame "other".'],
    ['SELECT ?', { params: [] }, 'invalid_sql', 'The SQL has 1 parameter, but 0 values came with it.'],
    ['SELECT 1', { params: [1, 2] }, 'invalid_sql', 'The SQL has 0 parameters, but 2 values came with it.'],
    ["SELECT reflect('a', 'b')", {}, 'permission_denied', undefined],
    ['DROP TABLE trades', {}, 'permission_denied', undefined],
    ['SELECT \0', {}, 'invalid_sql', 'The SQL has a NUL character.'],
  ])('%s with %j is %s', async (sql, options, code, message) => {
    const cluster = createCluster({});
    const { frames, pinned } = createFrames({ outside: 3 });
    const failure = await engineOf(cluster, frames)
      .query(callOf(), sql, options)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, ...(message !== undefined && { message }) });
    expect(cluster.sent).toEqual([]);
    expect(pinned).toEqual([]);
  });

  test('does not see the frames of another tenant', async () => {
    const cluster = createCluster({});
    const { frames } = createFrames({ trades: 3 });
    const running = engineOf(cluster, frames).query(callOf(undefined, 'other'), 'SELECT * FROM trades');
    await expect(running).rejects.toMatchObject({ code: 'invalid_sql', message: 'There is no frame "trades".' });
    expect(cluster.sent).toEqual([]);
  });

  test('that fails after rows is an error, not a short result', async () => {
    const failing = async function* (): AsyncGenerator<RecordBatch> {
      yield batchOf(1n);
      throw new ServiceError('scheduler_failed', 'The cluster was lost.');
    };
    const { frames } = createFrames({});
    const result = await engineOf(createCluster({ answer: failing }), frames).query(callOf(), 'SELECT 1');
    await expect(valuesOf(result)).rejects.toMatchObject({ code: 'scheduler_failed' });
  });

  test('that is closed while it is read ends with an error', async () => {
    const { frames } = createFrames({});
    const result = await engineOf(createCluster({}), frames).query(callOf(), 'SELECT 1');
    result.close();
    await expect(valuesOf(result)).rejects.toMatchObject({ code: 'cancelled' });
  });
});

describe('slots', () => {
  test('a statement that waits gets the slot of one that is closed', async () => {
    const cluster = createCluster({});
    const { frames } = createFrames({});
    const engine = engineOf(cluster, frames, { maxConcurrent: 1, maxQueued: 1 });
    const first = await engine.query(callOf(), 'SELECT 1');
    const second = engine.query(callOf(), 'SELECT 2');
    await expect(engine.query(callOf(), 'SELECT 3')).rejects.toMatchObject({
      code: 'too_many_requests',
      hint: 'Retry after the number of seconds in Retry-After, or raise scheduler.max_queued.',
    });
    expect(cluster.sent).toHaveLength(1);
    first.close();
    (await second).close();
    expect(cluster.stopped[0]).toBe('SELECT 1');
  });

  test('a tenant leaves slots and places in the queue to others', async () => {
    const { frames } = createFrames({});
    const engine = engineOf(createCluster({}), frames, { maxConcurrent: 2, maxQueued: 2, hasTenants: true });
    const first = await engine.query(callOf(), 'SELECT 1');
    const second = engine.query(callOf(), 'SELECT 2');
    await expect(engine.query(callOf(), 'SELECT 3')).rejects.toMatchObject({ code: 'too_many_requests' });
    (await engine.query(callOf(undefined, 'other'), 'SELECT 4')).close();
    first.close();
    (await second).close();
  });

  test('a cluster that does not stop a statement gives the slot back in time, and keeps the frames', async () => {
    const never = withResolvers<void>();
    const cluster = createCluster({ stop: () => never.promise });
    const { frames, pinned } = createFrames({ trades: 3 });
    const late = vi.fn<NonNullable<EngineOptions['onNotStopping']>>();
    const engine = engineOf(cluster, frames, { maxConcurrent: 1, stopMs: 20, onNotStopping: late });
    (await engine.query(callOf(), 'SELECT * FROM trades')).close();
    const second = await engine.query(callOf(), 'SELECT 2');
    expect(late).toHaveBeenCalledTimes(1);
    expect(late.mock.calls[0]?.[0]).toMatchObject({ tenant: 'default', requestId: 'r:1' });
    expect(pinned).toEqual(['trades']);
    never.resolve();
    await vi.waitFor(() => expect(pinned).toEqual([]));
    second.close();
  });

  test('an aborted call ends at once, and stops the statement', async () => {
    const controller = new AbortController();
    const waiting = (): AsyncIterable<RecordBatch> => ({
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
    });
    const cluster = createCluster({ answer: waiting });
    const { frames } = createFrames({});
    const running = engineOf(cluster, frames).query(callOf(controller.signal), 'SELECT 1');
    const failed = expect(running).rejects.toMatchObject({ code: 'cancelled' });
    await vi.waitFor(() => expect(cluster.sent).toHaveLength(1));
    controller.abort();
    await failed;
    await vi.waitFor(() => expect(cluster.stopped).toEqual(['SELECT 1']));
  });

  test('a statement without rows in time is deadline_exceeded', async () => {
    const waiting = (): AsyncIterable<RecordBatch> => ({
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
    });
    const { frames } = createFrames({});
    const engine = engineOf(createCluster({ answer: waiting }), frames, { timeoutMs: 20 });
    await expect(engine.query(callOf(), 'SELECT 1')).rejects.toMatchObject({
      code: 'deadline_exceeded',
      hint: 'Ask for less, or raise scheduler.timeout_ms.',
    });
  });
});

describe('a description', () => {
  test('has the columns, and a parameter without a type for each ?', async () => {
    const cluster = createCluster({});
    const { frames, pinned } = createFrames({ trades: 3 });
    const info = await engineOf(cluster, frames).describe(callOf(), 'SELECT * FROM trades WHERE n IN (?, ?)');
    expect(info.schema).toBe(SCHEMA);
    expect(info.parameters.fields.map(({ name, type }) => `${name} ${type}`)).toEqual(['1 Null', '2 Null']);
    await vi.waitFor(() => expect(pinned).toEqual([]));
  });
});

test('a closed engine is unavailable', async () => {
  const { frames } = createFrames({});
  const engine = engineOf(createCluster({}), frames);
  const open = await engine.query(callOf(), 'SELECT 1');
  await engine.close();
  await expect(valuesOf(open)).rejects.toMatchObject({ code: 'unavailable' });
  await expect(engine.query(callOf(), 'SELECT 1')).rejects.toMatchObject({ code: 'unavailable' });
});
