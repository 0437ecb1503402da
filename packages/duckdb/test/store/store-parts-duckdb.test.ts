import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { type Engine, type FrameStream, type ReadOptions, streamFromTable } from '@svc/frames';
import { streamOfBatches } from '@svc/frames/testing';
import { Dictionary, Float64, Int32, Int64, Table, Utf8, type Vector, vectorFromArray } from 'apache-arrow';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import { createSqlEngine } from '../../src/sql/engine.ts';
import type { DurableStore } from '../../src/store/durable-store.ts';
import { STORABLE_FRAMES, textOf } from '../../src/testing/files-fixture.ts';
import { callOf } from '../../src/testing/sql-fixture.ts';
import { createStoreFixture, refOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

const files = createFrameFiles({ tempDirectory: tmpdir() });
const trades = refOf('trades');
let fixture: StoreFixture;
let store: DurableStore;
let engine: Engine | undefined;

beforeEach(async () => {
  fixture = await createStoreFixture(files);
  store = await fixture.open({ cacheBytes: 0 });
});

afterEach(async () => {
  await engine?.close();
  engine = undefined;
  await fixture.remove();
});
afterAll(() => files.close());

const frameOf = (columns: Readonly<Record<string, Vector>>): FrameStream => streamFromTable(new Table(columns));
const longs = (...values: readonly (number | null)[]): Vector =>
  vectorFromArray(
    values.map((value) => (value === null ? null : BigInt(value))),
    new Int64(),
  );
const texts = (...values: readonly (string | null)[]): Vector => vectorFromArray(values, new Utf8());
const symbols = (...values: readonly string[]): Vector =>
  vectorFromArray(values, new Dictionary(new Utf8(), new Int32()));

async function read(options: ReadOptions = {}): Promise<string> {
  const frame = await store.open(trades);
  return textOf(frame!.read(options)).finally(() => frame?.close());
}

async function query(sql: string): Promise<string> {
  engine ??= createSqlEngine({ store, tempDirectory: tmpdir(), maxConcurrent: 1 });
  const result = await engine.query(callOf(), sql);
  return textOf(result).finally(() => result.close());
}

async function restart(): Promise<void> {
  await engine?.close();
  engine = undefined;
  await store.close();
  store = await fixture.open({ cacheBytes: 0 });
}

/** A part in each of the ways in which rows may differ from those of the frame. */
async function putAndAppend(): Promise<void> {
  await store.put(trades, frameOf({ id: longs(0, 1), s: symbols('a', 'b'), x: longs(5, 6) }));
  await store.append(trades, frameOf({ id: longs(2, 3), s: texts('c', null), x: longs(7, null) }));
  await store.append(
    trades,
    frameOf({ x: vectorFromArray([8, 9], new Float64()), s: symbols('e', 'a'), id: longs(4, 5) }),
  );
  const body = (async function* () {
    yield Buffer.from('id,s,x\n6,7,10\n');
  })();
  await store.append(trades, { format: 'csv', body });
}

const ROWS = [
  '{"id":0,"s":"a","x":5}',
  '{"id":1,"s":"b","x":6}',
  '{"id":2,"s":"c","x":7}',
  '{"id":3,"s":null,"x":null}',
  '{"id":4,"s":"e","x":8}',
  '{"id":5,"s":"a","x":9}',
  '{"id":6,"s":"7","x":10}',
];

test('parts have the types of the frame, whatever was appended, also after a restart', async () => {
  await putAndAppend();
  const columns = [
    { name: 'id', type: 'LONG', nullable: true },
    { name: 's', type: 'SYMBOL', nullable: true },
    { name: 'x', type: 'LONG', nullable: true },
  ];
  for (const again of [false, true]) {
    if (again) await restart();
    expect(await store.describe(trades)).toMatchObject({ rows: 7, columns });
    expect(await read()).toBe(`${ROWS.join('\n')}\n`);
    expect(await read({ offset: 1, limit: 4, columns: ['x', 's'] })).toBe(
      '{"x":6,"s":"b"}\n{"x":7,"s":"c"}\n{"x":null,"s":null}\n{"x":8,"s":"e"}\n',
    );
  }
});

test('SQL sees all parts in order, each statement those of one version', { tags: ['slow'] }, async () => {
  await putAndAppend();
  expect(await query('FROM trades')).toBe(`${ROWS.join('\n')}\n`);
  expect(await query('SELECT count(*) AS n, sum(x) AS x, max(s) AS s FROM trades')).toBe('{"n":7,"x":45,"s":"e"}\n');
  await store.append(trades, frameOf({ id: longs(7), s: symbols('z'), x: longs(11) }));
  expect(await query('SELECT s FROM trades WHERE id >= 6')).toBe('{"s":"7"}\n{"s":"z"}\n');
  expect(await query("SELECT data_type FROM information_schema.columns WHERE column_name = 'x'")).toBe(
    '{"data_type":"BIGINT"}\n',
  );
});

test('a damaged part is named, and the rows of the others can be read', { tags: ['slow'] }, async () => {
  await putAndAppend();
  const [, path = ''] = await fixture.parts('trades');
  const file = await open(path, 'r+');
  await file.write(Buffer.from([0xff]), 0, 1, 40);
  await file.close();
  await restart();
  await expect(read()).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining('damaged') });
  expect(await read({ limit: 2 })).toBe(`${ROWS.slice(0, 2).join('\n')}\n`);
  expect(await read({ offset: 4 })).toBe(`${ROWS.slice(4).join('\n')}\n`);
  await expect(query('SELECT count(*) FROM trades WHERE x > 0')).rejects.toMatchObject({ code: 'internal' });
  const verdicts = [];
  for await (const verdict of store.verify()) verdicts.push(verdict);
  expect(verdicts).toMatchObject([{ handle: 'trades', state: 'damaged', path }]);
  expect(await store.faults()).toMatchObject([{ kind: 'damaged_frame', handle: 'trades' }]);
});

test('a merge does not copy damaged rows, and the frame stays as it is', async () => {
  await store.close();
  store = await fixture.open({ cacheBytes: 0, mergeAbove: 4 });
  await putAndAppend();
  const [, path = ''] = await fixture.parts('trades');
  const file = await open(path, 'r+');
  await file.write(Buffer.from([0xff]), 0, 1, 40);
  await file.close();
  await store.append(trades, frameOf({ id: longs(7), s: symbols('z'), x: longs(11) }));
  await store.close();
  store = await fixture.open({ cacheBytes: 0 });
  expect((await fixture.names()).filter((one) => one.endsWith('.parquet'))).toHaveLength(5);
  expect(await read({ offset: 7 })).toBe('{"id":7,"s":"z","x":11}\n');
});

async function appendAndMerge(frame: () => FrameStream): Promise<void> {
  await store.close();
  store = await fixture.open({ cacheBytes: 0, mergeAbove: 1 });
  await store.put(trades, frame());
  const before = await read();
  await store.append(trades, frame());
  await expect.poll(() => fixture.names(), { timeout: 10_000 }).toHaveLength(1);
  expect(await read()).toBe(before + before);
  for await (const verdict of store.verify()) expect(verdict).toMatchObject({ state: 'intact' });
}

test('a merge keeps the sign of a zero', async () => {
  const d = vectorFromArray([-0, 0, 0.5], new Float64());
  await appendAndMerge(() => frameOf({ d, s: symbols('a', 'b', 'a') }));
});

test.each(STORABLE_FRAMES)(
  'an append and a merge keep every value: $name',
  { tags: ['slow'] },
  async ({ schema, batches }) => {
    await appendAndMerge(() => streamOfBatches(schema, batches));
  },
);
