import { columnInfo, encodeNdjson, type FrameStream, parseHandle, streamFromTable } from '@svc/frames';
import { SAMPLE_FRAMES, streamOfSample } from '@svc/frames/testing';
import {
  type DataType,
  DurationMillisecond,
  DurationNanosecond,
  Field,
  List,
  Struct,
  Table,
  TimeNanosecond,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callOf, createSqlFixture, type SqlFixture } from '../../src/testing/sql-fixture.ts';
import { byTier } from '../../../../test/tier.ts';

let fixture: SqlFixture;

beforeAll(async () => {
  fixture = await createSqlFixture();
});

afterAll(() => fixture.close());

const frame = { tenant: 'default', handle: parseHandle('sample') };

async function put(stream: FrameStream): Promise<void> {
  await fixture.store.put(frame, stream);
}

async function storedText(): Promise<string> {
  const opened = await fixture.store.open(frame);
  const parts: Uint8Array[] = [];
  if (opened !== undefined) for await (const bytes of encodeNdjson(opened.read())) parts.push(bytes.slice());
  opened?.close();
  return Buffer.concat(parts).toString();
}

// Stored with other types than they were sent with, or with names that SQL does not have.
const OTHERWISE = new Set([
  'columns with names of all kinds',
  'date64',
  'every type side by side',
  'struct without fields',
  'timestamp ms',
  'timestamp s',
  'without columns',
]);

describe('SELECT * returns the same as a read of the handle', () => {
  for (const [options, samples] of byTier(SAMPLE_FRAMES.filter(({ name }) => !OTHERWISE.has(name)))) {
    test.each(samples)('$name', options, async (sample) => {
      await put(streamOfSample(sample));
      expect(await fixture.text('FROM sample')).toBe(await storedText());
    });
  }
});

/** The column types of a query, as `DESCRIBE` names them. */
async function typesOf(sql: string): Promise<unknown[]> {
  return (await fixture.rows(`DESCRIBE ${sql}`)).map(([, type]) => type);
}

describe('columns have the native types of DuckDB', () => {
  test.each([
    ['int128', 'HUGEINT'],
    ['uint8', 'UTINYINT'],
    ['decimal128', 'DECIMAL(38,10)'],
    ['timestamp ns', 'TIMESTAMP_NS'],
    ['timestamp µs with a zone', 'TIMESTAMP WITH TIME ZONE'],
    ['time64 ns', 'TIME_NS'],
    ['duration µs', 'INTERVAL'],
    ['interval of months', 'INTERVAL'],
    ['uuid', 'UUID'],
    ['dictionary of utf8', 'VARCHAR'],
    ['binary', 'BLOB'],
  ])('%s is %s', async (name, type) => {
    const sample = SAMPLE_FRAMES.find((one) => one.name === name);
    if (sample === undefined) throw new Error(`There is no sample ${name}.`);
    await put(streamOfSample(sample));
    expect(await typesOf('sample')).toEqual([type]);
  });
});

async function putValues(type: DataType, values: readonly unknown[]): Promise<void> {
  await put(streamFromTable(new Table({ c: vectorFromArray([...values], type) })));
}

describe('values with another form in SQL', () => {
  const item = new Field('item', new DurationMillisecond(), true);
  const pair = new Struct([new Field('a "x"', new TimeNanosecond(), true)]);

  test.each<readonly [string, DataType, readonly unknown[], readonly string[]]>([
    ['durations', new DurationMillisecond(), [1500n, null, -1n], ['"PT1.5S"', 'null', '"PT-0.001S"']],
    ['durations in whole microseconds', new DurationNanosecond(), [1000n, null], ['"PT0.000001S"', 'null']],
    ['durations of centuries', new DurationMillisecond(), [10n ** 15n], ['"P11574074DT1H46M40S"']],
    [
      'times in nanoseconds',
      new TimeNanosecond(),
      [1n, 3_723_000_000_001n],
      ['"00:00:00.000000001"', '"01:02:03.000000001"'],
    ],
    ['lists of durations', new List(item), [[60_000n, null], null, []], ['["PT1M",null]', 'null', '[]']],
    ['structs of times', pair, [{ 'a "x"': 1n }, null], ['{"a \\"x\\"":"00:00:00.000000001"}', 'null']],
  ])('%s', async (_, type, values, texts) => {
    await putValues(type, values);
    // An expression, not the stored column.
    expect(await fixture.text('SELECT coalesce(c) AS c FROM sample')).toBe(
      texts.map((text) => `{"c":${text}}\n`).join(''),
    );
  });
});

describe('values that SQL cannot represent', () => {
  const nested = new List(new Field('item', new DurationNanosecond(), true));

  test.each<readonly [string, DataType, unknown, string]>([
    ['a duration in nanoseconds', new DurationNanosecond(), 1999n, '"PT0.000001999S"'],
    ['a duration in nanoseconds in a list', nested, [1999n], '["PT0.000001999S"]'],
    ['a duration beyond microseconds of 64 bits', new DurationMillisecond(), 2n ** 62n, '"PT1281023894007H36M27.904S"'],
    ['a time beyond a day', new TimeNanosecond(), 86_400_000_000_000n, '"24:00:00.000000000"'],
  ])('%s is exact in a selected column, and an error in a calculation', async (_, type, value, text) => {
    await putValues(type, [value]);
    for (const sql of [
      'FROM sample',
      'SELECT c AS d, c FROM sample WHERE 1 = 1 LIMIT 1',
      'SELECT sample.c FROM sample',
    ]) {
      expect(await fixture.text(sql)).toContain(`"c":${text}`);
    }
    await expect(fixture.text('SELECT max(c) FROM sample')).rejects.toMatchObject({ code: 'invalid_sql' });
    await expect(fixture.text('FROM sample ORDER BY c::VARCHAR')).rejects.toMatchObject({ code: 'invalid_sql' });
  });

  test.each(['SELECT c.d FROM sample', 'SELECT sample.c.d FROM sample', 'SELECT other.c.d FROM sample AS other'])(
    'a field of a struct with a duration can be selected: %s',
    async (sql) => {
      await putValues(new Struct([new Field('d', new DurationNanosecond(), true)]), [{ d: 2000n }]);
      expect(await fixture.text(sql)).toBe('{"d":"PT0.000002S"}\n');
    },
  );

  test('the error names the column', async () => {
    await putValues(new DurationNanosecond(), [1999n]);
    await expect(fixture.text('SELECT c + INTERVAL 1 DAY FROM sample')).rejects.toMatchObject({
      code: 'invalid_sql',
      message: expect.stringMatching(/INTERVAL has microsecond precision, but column "c" has a value with nanoseconds/),
    });
  });

  test.each([
    ['SELECT c FROM sample ORDER BY id DESC', [3000n, 2000n, 1000n]],
    ['SELECT c FROM sample WHERE c > INTERVAL 1 MICROSECOND ORDER BY c', [2000n, 3000n]],
    ['SELECT c AS other FROM sample ORDER BY other DESC LIMIT 1', [3000n]],
    ['SELECT c FROM sample ORDER BY 1 DESC LIMIT 1', [3000n]],
    ['SELECT c FROM sample ORDER BY ALL DESC LIMIT 1', [3000n]],
    ['WITH sums AS (SELECT id, c + c AS c FROM sample) SELECT c FROM sums WHERE id = 1', [2000n]],
    ['SELECT d FROM sample AS other(id, d) WHERE d > INTERVAL 2 MICROSECONDS', [3000n]],
    ['SELECT max(c) FROM sample', [3000n]],
  ])('rows are found and sorted by such a column: %s', async (sql, nanos) => {
    const c = vectorFromArray([2000n, 1000n, 3000n], new DurationNanosecond());
    await put(streamFromTable(new Table({ id: vectorFromArray([2, 1, 3]), c })));
    const texts = (await fixture.text(sql)).trimEnd().split('\n');
    expect(texts.map((line): unknown => Object.values(JSON.parse(line))[0])).toEqual(
      nanos.map((value) => `PT0.00000${value / 1000n}S`),
    );
  });
});

test('column names that differ only by case get numbers', async () => {
  const one = vectorFromArray([1]);
  await put(streamFromTable(new Table({ Id: one, id: one, file_row_number: one })));
  const { schema } = await fixture.engine.describe(callOf(), 'FROM sample');
  expect(schema.names).toEqual(['Id_0', 'id_1', 'file_row_number']);
});

const ALL_TYPES: Readonly<Record<string, string>> = {
  bool: 'BOOLEAN',
  tinyint: 'BYTE',
  smallint: 'SHORT',
  int: 'INT',
  bigint: 'LONG',
  hugeint: 'LONG128',
  uhugeint: 'STRING',
  utinyint: 'SHORT',
  usmallint: 'INT',
  uint: 'LONG',
  ubigint: 'ULONG',
  bignum: 'STRING',
  date: 'DATE',
  time: 'TIME',
  timestamp: 'TIMESTAMP',
  timestamp_s: 'TIMESTAMP',
  timestamp_ms: 'TIMESTAMP',
  timestamp_ns: 'TIMESTAMP_NS',
  time_tz: 'STRING',
  timestamp_tz: 'TIMESTAMP',
  float: 'FLOAT',
  double: 'DOUBLE',
  dec_4_1: 'DECIMAL(4,1)',
  dec38_10: 'DECIMAL(38,10)',
  uuid: 'UUID',
  interval: 'INTERVAL',
  varchar: 'STRING',
  blob: 'BINARY',
  bit: 'STRING',
  small_enum: 'SYMBOL',
  int_array: 'ARRAY',
  struct: 'STRUCT',
  map: 'MAP',
  union: 'STRING',
  fixed_int_array: 'ARRAY',
  list_of_fixed_int_array: 'ARRAY',
};

describe('every type of DuckDB can be returned', () => {
  test.each(Object.entries(ALL_TYPES))('%s is %s', { tags: ['slow'] }, async (column, type) => {
    const sql = `SELECT "${column}" FROM test_all_types()`;
    const result = await fixture.engine.query(callOf(), sql);
    expect(result.schema.fields.map((field) => columnInfo(field).type)).toEqual([type]);
    result.close();
    expect((await fixture.text(sql)).trimEnd().split('\n')).toHaveLength(3);
  });

  test('all of them at once', async () => {
    expect((await fixture.text('FROM test_all_types()')).trimEnd().split('\n')).toHaveLength(3);
  });
});
