import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { FrameStream } from '@svc/frames';
import { streamOfSample } from '@svc/frames/testing';
import {
  Data,
  type DataType,
  DateMillisecond,
  Dictionary,
  Field,
  FixedSizeList,
  Int32,
  Int64,
  List,
  RecordBatch,
  Schema,
  Struct,
  Table,
  TimestampMillisecond,
  TimestampSecond,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { globFree } from '../../src/wire/sql-names.ts';
import { METADATA_KEYS, schemaText, storedSchema } from '../../src/types/stored-types.ts';
import { createFilesFixture, type FilesFixture, STORABLE_FRAMES, textOf } from '../../src/testing/files-fixture.ts';
import { byTier } from '../../../../test/tier.ts';

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await createFilesFixture();
  await fixture.files.warm();
});
afterAll(() => fixture.close());

function streamOf(schema: Schema, batches: readonly RecordBatch[]): FrameStream {
  return {
    schema,
    batches: (async function* () {
      yield* batches;
    })(),
  };
}

/** The frame as it is: `streamFromTable` would refuse some values before they are written. */
function frameOf(columns: Readonly<Record<string, Vector>>): FrameStream {
  const { schema, batches } = new Table(columns);
  return streamOf(schema, batches);
}

describe('every sample frame', () => {
  for (const [options, samples] of byTier(STORABLE_FRAMES)) {
    test.each(samples)('reads back unchanged: $name', options, async (sample) => {
      expect(await fixture.roundTrip(streamOfSample(sample))).toBe(await textOf(streamOfSample(sample)));
    });
  }

  test.each(STORABLE_FRAMES)(
    'has the announced schema, also in the file: $name',
    { tags: ['slow'] },
    async (sample) => {
      const path = fixture.path();
      const written = await fixture.files.write(path, streamOfSample(sample), { compression: 'none' });
      const info = await fixture.describe({ kind: 'parquet', path });
      expect(String(written.schema)).toBe(String(storedSchema(sample.schema).schema));
      expect(String(info.schema)).toBe(String(written.schema));
      expect(info).toMatchObject({ rows: written.rows, arrowBytes: written.arrowBytes });
      expect(info.schema.fields.map(({ nullable, metadata }) => [nullable, [...metadata]])).toEqual(
        written.schema.fields.map(({ nullable, metadata }) => [nullable, [...metadata]]),
      );
    },
  );
});

test('strings of every length, with nulls, over many chunks and row groups, read back unchanged', async () => {
  const rows = 30_000;
  const texts = Array.from({ length: rows }, (_, i) =>
    i % 7 === 0 ? null : `${i}:${'é'.repeat((i * 37) % (i % 500 === 1 ? 5000 : 40))}`,
  );
  const symbols = texts.map((_, i) => (i % 11 === 0 ? null : `a symbol that is long ${(i * 7919) % 300}`));
  const frame = (): FrameStream =>
    frameOf({ texts: vectorFromArray(texts, new Utf8()), symbols: vectorFromArray(symbols, new Utf8()) });
  expect(await fixture.roundTrip(frame())).toBe(await textOf(frame()));
}, 60_000);

test('bytes that are not UTF-8 become U+FFFD', async () => {
  const bytes = vectorFromArray(['abc', 'def', 'a text of more than twelve bytes'], new Utf8());
  bytes.data[0].values[1] = 0xff;
  expect(await fixture.roundTrip(frameOf({ t: bytes }))).toContain('{"t":"a\uFFFDc"}\n{"t":"def"}');
});

test('a character split between two strings becomes U+FFFD in both', async () => {
  const cut = vectorFromArray(['aé', 'b'], new Utf8());
  cut.data[0].valueOffsets[1] = 2;
  expect(await fixture.roundTrip(frameOf({ t: cut }))).toBe('{"t":"a\uFFFD"}\n{"t":"\uFFFDb"}\n');
});

test.each([
  [
    'a timestamp in seconds',
    new TimestampSecond(),
    [0n, 2n ** 60n],
    'Row 2 of column "at": the time 1152921504606846976',
  ],
  [
    'a timestamp in milliseconds',
    new TimestampMillisecond(),
    [0n, 1n, -(2n ** 60n)],
    'Row 3 of column "at": the time -1152921504606846976',
  ],
  ['a date', new DateMillisecond(), [2n ** 60n], 'Row 1 of column "at": the date of 1152921504606846976 ms'],
  [
    'a part of a day',
    new DateMillisecond(),
    [86_400_000n, 1n],
    'Row 2 of column "at": the date of 1 ms is not a whole day',
  ],
  ['a part of a day before 1970', new DateMillisecond(), [-1n], 'Row 1 of column "at": the date of -1 ms'],
])(
  '%s that cannot be kept is refused, with its row and column, and leaves no file',
  async (_, type: DataType, values, message) => {
    const path = fixture.path();
    const data = BigInt64Array.from(values);
    const column = new Vector([new Data(type, 0, values.length, 0, [undefined, data])]);
    await expect(fixture.files.write(path, frameOf({ at: column }), { compression: 'zstd' })).rejects.toMatchObject({
      code: 'invalid_data',
      message: expect.stringContaining(message),
    });
    expect(await readdir(fixture.folder)).not.toContain(basename(path));
  },
);

test('an out-of-range dictionary value is refused with its row', async () => {
  const values = new Data(new TimestampSecond(), 0, 2, 0, [undefined, BigInt64Array.of(0n, 2n ** 60n)]);
  const type = new Dictionary(new TimestampSecond(), new Int32());
  const indices = new Int32Array(5000);
  indices[3000] = 1;
  const column = new Vector([new Data(type, 0, 5000, 0, [undefined, indices], [], new Vector([values]))]);
  await expect(
    fixture.files.write(fixture.path(), frameOf({ at: column }), { compression: 'zstd' }),
  ).rejects.toMatchObject({ code: 'invalid_data', message: expect.stringContaining('Row 3001 of column "at"') });
});

test('a value under a null may be out of range', async () => {
  const [times, item] = [new TimestampSecond(), new Field('at', new TimestampSecond(), true)];
  const two = new Data(times, 0, 2, 0, [undefined, BigInt64Array.of(2n ** 60n, 0n)]);
  const column = (type: DataType, offsets?: Int32Array): Vector =>
    new Vector([new Data<DataType>(type, 0, 2, 1, [offsets, undefined, Uint8Array.of(0b10)], [two])]);
  const frame = frameOf({
    s: column(new Struct([item])),
    l: column(new List(item), Int32Array.of(0, 1, 2)),
    f: column(new FixedSizeList(1, item)),
  });
  expect(await fixture.roundTrip(frame)).toBe(
    '{"s":null,"l":null,"f":null}\n' +
      '{"s":{"at":"1970-01-01T00:00:00.000000Z"},"l":["1970-01-01T00:00:00.000000Z"],"f":["1970-01-01T00:00:00.000000Z"]}\n',
  );
});

test('names that differ only in case, are empty, or are reserved by DuckDB are kept', async () => {
  const schema = new Schema(
    ['a', 'A', 'a_1', '', 'column', 'file_row_number', 'x"y', "it's"].map((name) => new Field(name, new Int32(), true)),
  );
  const columns = schema.fields.map((_, i) => vectorFromArray([i], new Int32()));
  const batch = new RecordBatch(
    schema,
    new Table(Object.fromEntries(columns.map((c, i) => [`c${i}`, c]))).batches[0].data,
  );
  expect(await fixture.roundTrip(streamOf(schema, [batch]))).toBe(
    '{"a":0,"A":1,"a_1":2,"":3,"column":4,"file_row_number":5,"x\\"y":6,"it\'s":7}\n',
  );
});

test('a frame without columns has its rows, and one without rows has its columns', async () => {
  const path = fixture.path();
  const empty = new RecordBatch(
    new Schema([]),
    new Table({ c: vectorFromArray([1, 2, 3], new Int32()) }).batches[0].select([]).data,
  );
  expect(await fixture.files.write(path, streamOf(new Schema([]), [empty]), { compression: 'zstd' })).toMatchObject({
    rows: 3,
  });
  const source = { kind: 'parquet', path } as const;
  let rows = 0;
  for await (const batch of fixture.files.read(source, await fixture.describe(source)).batches) rows += batch.numRows;
  expect(rows).toBe(3);
  const none = fixture.path();
  const schema = new Schema([new Field('id', new Int64(), false)]);
  expect(await fixture.files.write(none, streamOf(schema, []), { compression: 'zstd' })).toMatchObject({ rows: 0 });
  const info = await fixture.describe({ kind: 'parquet', path: none });
  expect([info.rows, String(info.schema)]).toEqual([0, String(schema)]);
});

describe('decimals that DuckDB has no type for', () => {
  const [WHOLE, FRACTION] = ['9'.repeat(56), '9'.repeat(20)];
  const CASES = [
    { name: 'decimal128 of hundreds', texts: ['123e2', '-1e2', null, '0'], digits: ['123', '-1', null, '0'] },
    {
      name: 'decimal256',
      texts: [`${WHOLE}.${FRACTION}`, `-${WHOLE}.${FRACTION}`, null, '-0.00000000000000000001'],
      digits: [`${WHOLE}${FRACTION}`, `-${WHOLE}${FRACTION}`, null, '-1'],
    },
  ].flatMap((row) => STORABLE_FRAMES.filter(({ name }) => name === row.name).map((sample) => ({ ...row, sample })));

  async function query(sql: string): Promise<unknown[][]> {
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const columns = (await connection.runAndReadAll(sql)).getColumns();
    connection.disconnectSync();
    instance.closeSync();
    return columns;
  }

  test.each(CASES)('are text with their scale: $name', async ({ sample, texts }) => {
    const path = fixture.path();
    await fixture.files.write(path, streamOfSample(sample), { compression: 'zstd' });
    expect(await query(`FROM read_parquet(${globFree(path)}) LIMIT 4`)).toEqual([texts]);
  });

  test.each(CASES)('are read from files that have only their digits: $name', async ({ sample, digits }) => {
    const path = fixture.path();
    const metadata = { schema: schemaText(sample.schema), rows: 4, arrowBytes: 1 };
    const pairs = Object.entries(METADATA_KEYS).map(
      ([name, key]) => `'${key}': '${metadata[name as keyof typeof metadata]}'`,
    );
    const values = digits.map((value) => `(${value === null ? 'NULL' : `'${value}'`})`).join();
    const name = sample.schema.fields[0].name;
    await query(
      `COPY (FROM (VALUES ${values}) t("${name}")) TO '${path.replaceAll("'", "''")}' (FORMAT parquet, KV_METADATA {${pairs.join()}})`,
    );
    const source = { kind: 'parquet', path } as const;
    const lines = (await textOf(streamOfSample(sample))).split('\n').slice(0, 4);
    expect(await textOf(fixture.files.read(source, await fixture.describe(source)))).toBe(`${lines.join('\n')}\n`);
  });
});
