import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { columnInfo, encodeNdjson, parseHandle, streamFromTable } from '@svc/frames';
import { type Schema, Table, Timestamp, TimeUnit, Utf8, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDurableStore } from '../../src/store/durable-store.ts';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import { createSqlFixture, type SqlFixture } from '../../src/testing/sql-fixture.ts';

let fixture: SqlFixture;
beforeAll(async () => {
  fixture = await createSqlFixture();
});
afterAll(() => fixture.close());

const frame = { tenant: 'default', handle: parseHandle('uploaded') };

async function fileOf(name: string): Promise<Buffer> {
  return readFile(new URL(`../parquet/${name}.parquet`, import.meta.url));
}

async function put(bytes: Uint8Array): Promise<void> {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  await fixture.store.put(frame, { format: 'parquet', body: body() });
}

interface ReadFrame {
  readonly schema: Schema;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** Reads from disk: the store has kept nothing of the upload in memory. */
async function read(ref = frame): Promise<ReadFrame> {
  const opened = await fixture.store.open(ref);
  if (opened === undefined) throw new Error('There is no frame.');
  try {
    const stream = opened.read();
    const parts: Uint8Array[] = [];
    for await (const bytes of encodeNdjson(stream)) parts.push(bytes.slice());
    const lines = Buffer.concat(parts).toString().trimEnd().split('\n');
    return { schema: stream.schema, rows: lines.map((line): Record<string, unknown> => JSON.parse(line)) };
  } finally {
    opened.close();
  }
}

function typeOf({ schema }: ReadFrame, name: string): string {
  const field = schema.fields.find((one) => one.name === name);
  return field === undefined ? 'missing' : `${columnInfo(field).type} ${field.type}`;
}

const NANOS = '2024-01-02T03:04:05.123456789Z';
const BEFORE = '1969-12-31T23:59:59.999999999Z';
const MICROS = '9999-12-31T23:59:59.123456Z';

describe('a Parquet file written by pyarrow is kept exactly', () => {
  let found: ReadFrame;
  beforeAll(async () => {
    await put(await fileOf('pyarrow-types'));
    found = await read();
  });

  test.each<readonly [string, string, readonly unknown[]]>([
    [
      'decimal50',
      'DECIMAL(50,12) Decimal[50e+12]',
      ['0.000000000001', null, '-12345678901234567890123456789012345678.123456789012'],
    ],
    ['decimal76', 'DECIMAL(76,0) Decimal[76e0]', ['9'.repeat(76), null, `-${'9'.repeat(76)}`]],
    ['decimal20', 'DECIMAL(20,2) Decimal[20e+2]', ['1.50', null, '-9.25']],
    ['decimal5', 'DECIMAL(5,2) Decimal[5e+2]', ['1.50', null, '-9.25']],
    ['decimals', 'ARRAY List<Decimal[50e+12]>', [['0.000000000001', null], null, []]],
    ['nanos', 'TIMESTAMP_NS Timestamp<NANOSECOND>', [NANOS, null, BEFORE]],
    ['nanos_utc', 'TIMESTAMP_NS Timestamp<NANOSECOND, UTC>', [NANOS, null, BEFORE]],
    ['nanos_paris', 'TIMESTAMP_NS Timestamp<NANOSECOND, Europe/Paris>', [NANOS, null, BEFORE]],
    ['nanos_list', 'ARRAY List<Timestamp<NANOSECOND, UTC>>', [[NANOS, null], null, []]],
    ['nanos_struct', 'STRUCT Struct<{a:Timestamp<NANOSECOND, UTC>}>', [{ a: NANOS }, null, { a: null }]],
    ['nanos_map', 'MAP Map<{key:Utf8, value:Timestamp<NANOSECOND, UTC>}>', [[['k', NANOS]], null, []]],
    [
      'millis_paris',
      'TIMESTAMP Timestamp<MICROSECOND, Europe/Paris>',
      ['2024-01-02T03:04:05.123000Z', null, '1969-12-31T23:59:59.999000Z'],
    ],
    [
      'seconds',
      'TIMESTAMP Timestamp<MICROSECOND>',
      ['2024-01-02T03:04:05.000000Z', null, '1969-12-31T23:59:59.000000Z'],
    ],
    ['time_nanos', 'TIME Time64<NANOSECOND>', ['23:59:59.999999999', null, '00:00:00.000000001']],
    ['time_list', 'ARRAY List<Time64<NANOSECOND>>', [['23:59:59.999999999', null], null, []]],
    ['time_struct', 'STRUCT Struct<{a:Time64<NANOSECOND>}>', [{ a: '00:00:00.000000001' }, null, { a: null }]],
    ['time_map', 'MAP Map<{key:Utf8, value:Time64<NANOSECOND>}>', [[['k', '00:00:00.000000001']], null, []]],
    ['time_seconds', 'TIME Time64<MICROSECOND>', ['23:59:59.000000', null, '00:00:01.000000']],
    ['duration', 'DURATION Duration<NANOSECOND>', ['PT0.000001999S', null, 'PT-0.000000001S']],
    ['duration_seconds', 'DURATION Duration<SECOND>', ['PT2562047788015215H30M7S', null, 'PT-1S']],
    ['duration_list', 'ARRAY List<Duration<NANOSECOND>>', [['PT0.000001999S', null], null, []]],
    ['symbol', 'SYMBOL Utf8', ['a', null, 'b']],
    ['large_symbol', 'SYMBOL Utf8', ['a', null, 'b']],
    ['text', 'STRING Utf8', ['a', null, 'b']],
    ['view', 'STRING Utf8', ['a', null, 'b']],
    ['bytes', 'BINARY Binary', ['YWJjZA==', null, 'ZWZnaA==']],
    ['uuid', 'UUID FixedSizeBinary[16]', ['30313233-3435-3637-3839-616263646566', null, null]],
    ['pair', 'ARRAY List<Int32>', [[1, 2], null, [3, 4]]],
    ['nulls', 'STRING Utf8', [null, null, null]],
    ['half', 'FLOAT Float32', [1.5, null, 6.1035156e-5]],
    ['date', 'DATE Date32<DAY>', ['1969-12-31T00:00:00.000Z', null, '+010000-01-01T00:00:00.000Z']],
    [
      'two',
      'STRUCT Struct<{a:Int64, A:Int64}>',
      [
        { a: 1, A: 4 },
        { a: 2, A: 5 },
        { a: 3, A: 6 },
      ],
    ],
    ['Two', 'BYTE Int8', [1, null, 3]],
  ])('%s', (name, type, values) => {
    expect(typeOf(found, name)).toBe(type);
    expect(found.rows.map((row) => row[name])).toEqual(values);
  });

  test('another process reads the same', async () => {
    const files = createFrameFiles({ tempDirectory: fixture.tempDirectory });
    const store = await createDurableStore({ directory: fixture.directory, files, isReadOnly: true });
    const other = await store.open(frame);
    const batches = other?.read().batches ?? [];
    let rows = 0;
    for await (const batch of batches) rows += batch.numRows;
    other?.close();
    await store.close();
    expect(rows).toBe(3);
  });

  test('SQL reads zoned nanoseconds and long decimals', async () => {
    await put(await fileOf('pyarrow-types'));
    expect(await fixture.text('SELECT decimal50, nanos_utc, nanos_list, time_list FROM uploaded LIMIT 1')).toBe(
      `{"decimal50":"0.000000000001","nanos_utc":"${NANOS}","nanos_list":["${NANOS}",null],"time_list":["23:59:59.999999999",null]}\n`,
    );
  });
});

describe('deprecated INT96 timestamps', () => {
  test.each<readonly [string, string, readonly unknown[]]>([
    ['int96-nanos', 'TIMESTAMP_NS Timestamp<NANOSECOND>', [NANOS, null, BEFORE]],
    ['int96-micros', 'TIMESTAMP Timestamp<MICROSECOND>', [MICROS, null, '1969-12-31T23:59:59.999999Z']],
  ])('%s', async (file, type, values) => {
    await put(await fileOf(file));
    const found = await read();
    expect(typeOf(found, 't')).toBe(type);
    expect(found.rows.map((row) => row['t'])).toEqual(values);
  });

  test('inside lists are the same', async () => {
    await put(await fileOf('int96-micros'));
    expect((await read()).rows.map((row) => row['list'])).toEqual([[MICROS, null], null, []]);
  });

  test('that fit neither microseconds nor nanoseconds are refused with the column and its type', async () => {
    await expect(put(await fileOf('int96-mixed'))).rejects.toMatchObject({
      code: 'invalid_data',
      message: expect.stringMatching(/"u".*INT96/),
    });
  });
});

test('durations and categories written by polars are kept', async () => {
  await put(await fileOf('polars'));
  const found = await read();
  expect(found.schema.fields.map(({ name }) => typeOf(found, name))).toEqual([
    'DURATION Duration<MICROSECOND>',
    'DURATION Duration<NANOSECOND>',
    'SYMBOL Utf8',
    'SYMBOL Utf8',
    'TIME Time64<NANOSECOND>',
    'TIMESTAMP_NS Timestamp<NANOSECOND, Europe/Paris>',
  ]);
  expect(Object.values(found.rows[0] ?? {})).toEqual([
    'PT0.000005S',
    'PT0.000001999S',
    'a',
    'a',
    '01:02:03.000004000',
    NANOS,
  ]);
});

test('Arrow rows can be appended to a frame that was put as Parquet', async () => {
  await put(await fileOf('lies'));
  const time = vectorFromArray([2], new Timestamp(TimeUnit.MICROSECOND));
  const table = new Table({ text: vectorFromArray(['b'], new Utf8()), whole: vectorFromArray([2n]), time });
  await fixture.store.append(frame, streamFromTable(table));
  expect((await read()).rows.map((row) => row['time'])).toEqual([
    '1970-01-01T00:00:00.000001Z',
    '1970-01-01T00:00:00.002000Z',
  ]);
});

describe('a file copied into the folder', () => {
  async function putByHand(name: string): Promise<typeof frame> {
    await writeFile(join(fixture.directory, `${name}.parquet`), await fileOf(name));
    return { ...frame, handle: parseHandle(name) };
  }

  test('is read exactly, by its handle and by SQL, and is not changed', async () => {
    const ref = await putByHand('pyarrow-types');
    await put(await fileOf('pyarrow-types'));
    expect((await fixture.store.describe(ref))?.rows).toBe(3);
    expect(await read(ref)).toEqual(await read());
    const sql = 'SELECT decimal50, nanos_utc, time_list, duration FROM';
    expect(await fixture.text(`${sql} "pyarrow-types"`)).toBe(await fixture.text(`${sql} uploaded`));
    expect(await readFile(join(fixture.directory, 'pyarrow-types.parquet'))).toEqual(await fileOf('pyarrow-types'));
  });

  test('has INT96 timestamps in microseconds', async () => {
    const ref = await putByHand('int96-micros');
    expect((await read(ref)).rows.map((row) => row['t'])).toEqual([MICROS, null, '1969-12-31T23:59:59.999999Z']);
    expect(await fixture.text('SELECT max(t) AS t FROM "int96-micros"')).toBe(`{"t":"${MICROS}"}\n`);
  });

  test('with INT96 timestamps that have nanoseconds is an error that names the frame', async () => {
    const ref = await putByHand('int96-nanos');
    await expect(read(ref)).rejects.toMatchObject({
      code: 'invalid_data',
      message: expect.stringMatching(/"int96-nanos".*INT96/),
      hint: expect.stringMatching(/^Put the file as a frame/),
    });
    await put(await fileOf('int96-nanos'));
    expect((await read()).rows.map((row) => row['t'])).toEqual([NANOS, null, BEFORE]);
  });

  test('with INT96 timestamps that fit neither microseconds nor nanoseconds says which value to change', async () => {
    const ref = await putByHand('int96-mixed');
    await expect(read(ref)).rejects.toMatchObject({
      message: expect.stringMatching(/"int96-mixed" cannot be read\. Column "u" .* outside of the range/),
      hint: expect.stringMatching(/^Change the value/),
    });
  });

  test('keeps its durations in SQL', async () => {
    const ref = await putByHand('polars');
    const [row] = (await read(ref)).rows;
    const text = await fixture.text('SELECT duration, nanos, category FROM polars LIMIT 1');
    expect(JSON.parse(text)).toEqual({ duration: row?.['duration'], nanos: row?.['nanos'], category: 'a' });
  });
});

describe('false metadata about columns', () => {
  test('is ignored', async () => {
    await put(await fileOf('lies'));
    const found = await read();
    expect(found.rows).toEqual([{ text: 'a', whole: 1, time: '1970-01-01T00:00:00.000001Z' }]);
    expect(found.schema.fields.map((field) => columnInfo(field).type)).toEqual(['STRING', 'LONG', 'TIMESTAMP']);
  });

  test('does not change a value, whichever byte of the Arrow schema differs', { tags: ['slow'] }, async () => {
    const bytes = await fileOf('polars');
    // A message starts with four 0xff bytes, in base64 slashes.
    const start = bytes.indexOf('/////');
    for (let at = start; at < start + 600; at += 31) {
      const spoilt = Buffer.from(bytes);
      spoilt[at] = (spoilt[at] ?? 0) === 0x41 ? 0x42 : 0x41;
      await put(spoilt);
      const [row] = (await read()).rows;
      expect([1999, 'PT0.000001999S', 'PT0.001999S', 'PT1.999S', 'PT33M19S']).toContain(row?.['nanos']);
      expect(row?.['paris']).toBe(NANOS);
    }
  });

  test('a decimal with too many digits is refused with its column and type', async () => {
    const bytes = await fileOf('pyarrow-types');
    const [before, after] = [Buffer.of(0x98, 1), Buffer.of(0xa0, 1)];
    // Change 76 digits to 80 wherever the file records them.
    for (
      let at = bytes.indexOf(before, bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8));
      at >= 0;
      at = bytes.indexOf(before, at + 1)
    ) {
      after.copy(bytes, at);
    }
    await expect(put(bytes)).rejects.toMatchObject({
      code: 'invalid_data',
      message: 'Column "decimal76" has the Parquet type DECIMAL(80,0), which this server does not support.',
    });
  });
});

test('an upload that is retried because the engine broke keeps its types', { tags: ['slow'] }, async () => {
  const files = createFrameFiles({ tempDirectory: fixture.tempDirectory });
  try {
    const path = join(fixture.tempDirectory, 'tried-twice.parquet');
    await writeFile(path, await fileOf('pyarrow-types'));
    const source = { kind: 'parquet', path, isTemporary: true } as const;
    const write = { compression: 'zstd' } as const;
    await expect(files.convert(source, join(fixture.tempDirectory, 'no-folder', 'a'), write)).rejects.toThrow();
    const again = await files.convert(source, join(fixture.tempDirectory, 'a'), write);
    await writeFile(path, await fileOf('pyarrow-types'));
    const once = await files.convert(source, join(fixture.tempDirectory, 'b'), write);
    expect(again.schema.toString()).toBe(once.schema.toString());
  } finally {
    await files.close();
  }
});
