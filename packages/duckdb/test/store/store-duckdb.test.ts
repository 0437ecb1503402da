import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import {
  createDecoders,
  encodeArrowStream,
  encodeJsonTable,
  type FrameStream,
  type Store,
  streamFromTable,
} from '@svc/frames';
import { longFrame, readRows, SAMPLE_FRAMES, streamOfSample } from '@svc/frames/testing';
import {
  type Data,
  type DataType,
  Dictionary,
  Field,
  Int32,
  makeData,
  Map_,
  RecordBatch,
  Struct,
  Table,
  Timestamp,
  TimeUnit,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import type { StoreProblem } from '../../src/store/catalogue/store-problem.ts';
import { schemaText } from '../../src/types/stored-types.ts';
import {
  createStoreFixture,
  listDescribed,
  refOf,
  rowsOf,
  type StoreFixture,
} from '../../src/testing/store-fixture.ts';
import { byTier } from '../../../../test/tier.ts';

const decoders = createDecoders();
const files = createFrameFiles({ tempDirectory: tmpdir() });
const trades = refOf('trades');
let fixture: StoreFixture;

beforeEach(async () => {
  fixture = await createStoreFixture(files);
});

afterEach(() => fixture.remove());
afterAll(() => files.close());

async function json(store: Store): Promise<string> {
  const frame = (await store.open(trades))!;
  const chunks: Uint8Array[] = [];
  for await (const bytes of encodeJsonTable(frame.read(), { query: '' })) chunks.push(bytes.slice());
  frame.close();
  return Buffer.concat(chunks).toString();
}

/** Returns the schema that a frame is read with. */
async function schema(store: Store): Promise<string> {
  const frame = (await store.open(trades))!;
  const text = schemaText(frame.read().schema);
  frame.close();
  return text;
}

/** Samples with times outside the range that can be stored. */
const REFUSED = new Set(['timestamp s', 'timestamp ms', 'date64', 'every type side by side']);
const KEPT_FRAMES = SAMPLE_FRAMES.filter(({ name }) => !REFUSED.has(name));

test.each(
  SAMPLE_FRAMES.filter((sample) => !KEPT_FRAMES.includes(sample)).map((sample) => [sample.name, sample] as const),
)('a frame with a time out of range is refused as a whole: %s', async (_name, sample) => {
  const store = await fixture.open();
  await store.put(trades, longFrame(1));
  await expect(store.put(trades, streamOfSample(sample))).rejects.toMatchObject({
    code: 'invalid_data',
    message: expect.stringMatching(/Row \d+ of column "c\d*"/),
  });
  expect(await rowsOf(store, trades)).toEqual([[0n]]);
  expect(await fixture.names()).toHaveLength(1);
});

for (const [options, samples] of byTier(KEPT_FRAMES)) {
  test.each(samples)(
    'a frame reads the same from memory, from disk and after a restart: $name',
    options,
    async (sample) => {
      const store = await fixture.open();
      const { info } = await store.put(trades, streamOfSample(sample));
      const [first, firstSchema] = [await json(store), await schema(store)];
      expect(info.rows).toBe(sample.rows.length);
      await store.close();
      const again = await fixture.open();
      expect(await again.describe(trades)).toEqual({ ...info, tier: 'disk' });
      expect(await schema(again)).toBe(firstSchema);
      expect(await json(again)).toBe(first);
      expect((await again.describe(trades))?.tier).toBe('memory');
      expect(await json(again)).toBe(first);
    },
  );
}

test('strings can be appended to symbols, and symbols to strings', async () => {
  const store = await fixture.open();
  const frameOf = (s: DataType, t: DataType, values: readonly (string | null)[]): FrameStream =>
    streamFromTable(new Table({ s: vectorFromArray(values, s), t: vectorFromArray(values, t) }));
  const symbols = new Dictionary(new Utf8(), new Int32());
  await store.put(trades, frameOf(symbols, new Utf8(), ['a', null]));
  const { info } = await store.append(trades, frameOf(new Utf8(), symbols, [null, 'b']));
  expect(info.columns.map(({ type }) => type)).toEqual(['SYMBOL', 'STRING']);
  expect(await rowsOf(store, trades)).toEqual([
    ['a', 'a'],
    [null, null],
    [null, null],
    ['b', 'b'],
  ]);
});

async function makeDatabase(path: string, ...statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  for (const statement of statements) await connection.run(statement);
  connection.disconnectSync();
  instance.closeSync();
}

describe('timestamps of a Parquet file and of Arrow', () => {
  const SECONDS = 1_704_164_645n;
  const WHEN = '2024-01-02T03:04:05.000000Z';

  async function* parquet(): AsyncGenerator<Uint8Array> {
    const path = join(fixture.directory, 'times.parquet');
    const when = `'2024-01-02 03:04:05'`;
    const columns = [
      `${when}::TIMESTAMP AS local`,
      `${when}::TIMESTAMP_MS AS millis`,
      `'2024-01-02T03:04:05Z'::TIMESTAMPTZ AS instant`,
      `MAP {'k': ${when}::TIMESTAMP} AS map`,
    ];
    await makeDatabase(':memory:', `COPY (SELECT ${columns.join(', ')}) TO '${path}'`);
    yield await readFile(path);
  }

  /** The same values, in units and zones that other tools write. */
  async function* arrow(): AsyncGenerator<Uint8Array> {
    const times = (unit: TimeUnit, zone?: string): Data<Timestamp> =>
      makeData({ type: new Timestamp(unit, zone), data: BigInt64Array.of(SECONDS * 10n ** (3n * BigInt(unit))) });
    const value = times(TimeUnit.MICROSECOND);
    const [key] = vectorFromArray(['k'], new Utf8()).data;
    const pair = new Struct<{ key: Utf8; value: Timestamp }>([
      new Field('key', key.type, false),
      new Field('value', value.type, true),
    ]);
    const map = makeData({
      type: new Map_(new Field('entries', pair, false)),
      length: 1,
      valueOffsets: Int32Array.of(0, 1),
      child: makeData({ type: pair, length: 1, children: [key, value] }),
    });
    const columns = {
      local: times(TimeUnit.NANOSECOND),
      millis: times(TimeUnit.SECOND),
      instant: times(TimeUnit.MILLISECOND, 'Europe/Paris'),
      map,
    };
    yield* encodeArrowStream(streamFromTable(new Table(new RecordBatch(columns))));
  }

  test.each([
    ['Arrow to Parquet', parquet, arrow, 'parquet', 'arrow'],
    ['Parquet to Arrow', arrow, parquet, 'arrow', 'parquet'],
  ] as const)('are appended: %s', async (_name, put, append, first, second) => {
    const store = await fixture.open({ decoders });
    await store.put(trades, { format: first, body: put() });
    await store.append(trades, { format: second, body: append() });
    const rows: unknown[][] = JSON.parse(await json(store)).dataset;
    const nanos = first === 'arrow' ? '000' : '';
    const row = [WHEN.replace('Z', `${nanos}Z`), WHEN, WHEN, [['k', WHEN]]];
    expect(rows).toEqual([row, row]);
  });
});

test.each(KEPT_FRAMES.map((sample) => [sample.name, sample] as const))(
  'rows like those that were put can be appended: %s',
  { tags: ['slow'] },
  async (_name, sample) => {
    const store = await fixture.open();
    await store.put(trades, streamOfSample(sample));
    const first = JSON.parse(await json(store)).dataset;
    const { info } = await store.append(trades, streamOfSample(sample));
    expect(info.rows).toBe(2 * sample.rows.length);
    expect(JSON.parse(await json(store)).dataset).toEqual([...first, ...first]);
  },
);

describe('foreign frames', () => {
  test('are tables of a database', async () => {
    const duckdbPath = join(fixture.directory, 'tables.duckdb');
    await makeDatabase(
      duckdbPath,
      'CREATE TABLE trades AS SELECT range AS id FROM range(3)',
      'CREATE TABLE "no handle" (i INT)',
    );
    const store = await fixture.open({ duckdbPath });
    expect(await listDescribed(store)).toMatchObject([
      { handle: 'trades', rows: 3, columns: [{ name: 'id', type: 'LONG' }] },
    ]);
    const frame = (await store.open(trades))!;
    expect(await readRows(frame.read({ offset: 1, limit: 1 }))).toEqual([[1n]]);
    frame.close();
    await expect(store.drop(trades)).rejects.toMatchObject({ code: 'permission_denied' });
  });

  test('come from a new database if there is none', async () => {
    const store = await fixture.open({ duckdbPath: join(fixture.directory, 'new.duckdb') });
    expect(await store.list('default')).toEqual([]);
    await store.put(trades, longFrame(1));
    expect(await listDescribed(store)).toHaveLength(1);
  });

  test('in an unreadable database are reported, and other frames work', async () => {
    const duckdbPath = join(fixture.directory, 'broken.duckdb');
    await writeFile(duckdbPath, 'nonsense '.repeat(1000));
    const problems: StoreProblem[] = [];
    const store = await fixture.open({ duckdbPath, onProblem: (problem) => problems.push(problem) });
    await store.put(trades, longFrame(1));
    expect(await listDescribed(store)).toHaveLength(1);
    expect(problems).toMatchObject([{ kind: 'unreadable_database' }]);
  });

  test('are CSV and Parquet files', async () => {
    const store = await fixture.open();
    await makeDatabase(
      ':memory:',
      `COPY (SELECT range::INT AS n, 'x' || range AS s FROM range(5)) TO '${join(fixture.directory, 'p.parquet')}'`,
    );
    await writeFile(join(fixture.directory, 'c.csv'), 'id,when,what\n1,2024-01-02,a\n2,2024-01-03,"b,c"\n');
    await writeFile(join(fixture.directory, 'broken.parquet'), 'nonsense');
    expect(
      (await listDescribed(store)).map(({ handle, rows, columns }) => [handle, rows, columns?.map(({ type }) => type)]),
    ).toEqual([
      ['c', 2, ['LONG', 'DATE', 'STRING']],
      ['p', 5, ['INT', 'STRING']],
    ]);
    expect((await rowsOf(store, refOf('p')))?.[4]).toEqual([4, 'x4']);
    await expect(store.open(refOf('broken'))).rejects.toMatchObject({
      code: 'invalid_data',
      message: expect.not.stringContaining(fixture.directory),
    });
  });
});
