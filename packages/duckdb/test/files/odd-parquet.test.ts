import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { encodeNdjson, parseHandle } from '@svc/frames';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSqlFixture, type SqlFixture } from '../../src/testing/sql-fixture.ts';
import { sqlText } from '../../src/wire/sql-names.ts';
import { encodeParquetTail, parseParquetTail } from '../../src/wire/file-layout.ts';
import {
  encodeStruct,
  longField,
  numberField,
  structField,
  structsField,
  ThriftCursor,
  type ThriftField,
  type ThriftStruct,
  thriftStruct,
  thriftStructs,
  thriftText,
} from '../../src/wire/thrift-compact.ts';

let fixture: SqlFixture;
beforeAll(async () => {
  fixture = await createSqlFixture();
});
afterAll(() => fixture.close());

/** Writes the rows of a query as a Parquet file, uncompressed. */
async function parquetOf(sql: string): Promise<Buffer> {
  const path = join(fixture.tempDirectory, 'odd.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (${sql}) TO ${sqlText(path)} (FORMAT parquet, COMPRESSION uncompressed)`);
  connection.disconnectSync();
  instance.closeSync();
  return readFile(path);
}

/** Field numbers of `FileMetaData`, `SchemaElement`, `RowGroup`, `ColumnChunk` and `ColumnMetaData`. */
const FILE = { schema: 2, rows: 3, groups: 4, encryption: 8 };
const ELEMENT = { length: 2, name: 4, converted: 6, logical: 10 };
const GROUP = { columns: 1, rows: 3 };
const CHUNK = { metadata: 3 };
const COLUMN = { codec: 4 };
const CONVERTED = { map: 1, decimal: 5, timestampMillis: 9, timestampMicros: 10 };

type Change = (fields: ThriftStruct) => ThriftStruct;

/** Replaces the footer of a file. */
function withFooter(file: Buffer, change: Change): Buffer {
  const length = parseParquetTail(file) ?? 0;
  const start = file.length - 8 - length;
  const footer = encodeStruct(change(new ThriftCursor(file.subarray(start, file.length - 8)).struct()));
  return Buffer.concat([file.subarray(0, start), footer, encodeParquetTail(footer.length)]);
}

const set =
  (id: number, field: ThriftField): Change =>
  (fields) =>
    new Map([...fields, [id, field]]);

/** Changes each struct of a list. */
const each =
  (id: number, change: Change): Change =>
  (fields) =>
    set(id, structsField(thriftStructs(fields.get(id)).map((one) => encodeStruct(change(one)))))(fields);

/** Changes the schema elements of a name. */
const element = (name: string, change: Change): Change =>
  each(FILE.schema, (fields) => (thriftText(fields.get(ELEMENT.name)) === name ? change(fields) : fields));

/** Replaces all annotations of an element by a converted type. */
const annotate =
  (converted: number): Change =>
  (fields) =>
    set(ELEMENT.converted, numberField(converted))(new Map([...fields].filter(([id]) => id !== ELEMENT.logical)));

let frames = 0;

/** Puts a file, copies it into the folder, and queries that with SQL: the text or the error of each. */
async function outcomesOf(file: Uint8Array): Promise<Record<'put' | 'cold' | 'sql', unknown>> {
  frames += 1;
  const [put, cold] = [parseHandle(`put${frames}`), parseHandle(`cold${frames}`)];
  async function* body(): AsyncGenerator<Uint8Array> {
    yield file;
  }
  async function textOf(handle: typeof put): Promise<string> {
    const opened = await fixture.store.open({ tenant: 'default', handle });
    const parts: Uint8Array[] = [];
    try {
      for await (const bytes of encodeNdjson(opened!.read())) parts.push(bytes.slice());
    } finally {
      opened?.close();
    }
    return `${String(opened!.info.columns.map(({ type }) => type))}\n${Buffer.concat(parts).toString()}`;
  }
  const outcome = (run: Promise<unknown>): Promise<unknown> => run.catch((error: unknown) => error);
  await writeFile(join(fixture.directory, `${cold}.parquet`), file);
  return {
    put: await outcome(
      fixture.store
        .put({ tenant: 'default', handle: put }, { format: 'parquet', body: body() })
        .then(() => textOf(put)),
    ),
    cold: await outcome(textOf(cold)),
    sql: await outcome(fixture.text(`FROM ${cold}`)),
  };
}

const refused = (reason: string, hint: string): object => ({
  code: 'invalid_data',
  message: expect.stringContaining(reason),
  hint: expect.stringContaining(hint),
});

describe('a number of rows in the footer', () => {
  test.each([0, 5, 20])('of %d does not hide the ten rows in the row groups, or add some', async (rows) => {
    const file = withFooter(await parquetOf('SELECT range AS id FROM range(10)'), set(FILE.rows, longField(rows)));
    const ids = Array.from({ length: 10 }, (_, id) => `{"id":${id}}\n`).join('');
    expect(await outcomesOf(file)).toEqual({ put: `LONG\n${ids}`, cold: `LONG\n${ids}`, sql: ids });
    expect(await fixture.text(`SELECT count(*) AS n FROM cold${frames}`)).toBe('{"n":10}\n');
  });

  test('is refused if the row groups have fewer', async () => {
    const file = withFooter(
      await parquetOf('SELECT range AS id FROM range(10)'),
      each(FILE.groups, set(GROUP.rows, longField(20))),
    );
    const failure = refused('The Parquet file cannot be read: its footer or a page is malformed.', 'write it again');
    expect(await outcomesOf(file)).toMatchObject({ put: failure, cold: failure, sql: failure });
  });
});

test.each([
  ['MILLIS', CONVERTED.timestampMillis, 'TIMESTAMP_MS', '2024-01-02T03:04:05.678', '2024-01-02T03:04:05.678000Z'],
  ['MICROS', CONVERTED.timestampMicros, 'TIMESTAMP', '2024-01-02T03:04:05.678901', '2024-01-02T03:04:05.678901Z'],
])(
  'a timestamp of the converted type TIMESTAMP_%s alone is in UTC, also inside other types',
  async (_, converted, type, given, text) => {
    const at = `${type} '${given}'`;
    const names = ['seen', 'a', 'element', 'value'];
    const file = withFooter(
      await parquetOf(`SELECT ${at} AS seen, {'a': ${at}, 'b': 1} AS s, [${at}, NULL] AS l, MAP {'k': ${at}} AS m
      UNION ALL SELECT NULL, NULL, NULL, NULL`),
      (fields) => names.reduce((found, name) => element(name, annotate(converted))(found), fields),
    );
    const rows = [
      JSON.stringify({ seen: text, s: { a: text, b: 1 }, l: [text, null], m: [['k', text]] }),
      JSON.stringify({ seen: null, s: null, l: null, m: null }),
    ];
    const lines = rows.map((row) => `${row}\n`).join('');
    const types = 'TIMESTAMP,STRUCT,ARRAY,MAP\n';
    expect(await outcomesOf(file)).toEqual({ put: types + lines, cold: types + lines, sql: lines });
    for (const handle of [`put${frames}`, `cold${frames}`]) {
      const opened = await fixture.store.open({ tenant: 'default', handle: parseHandle(handle) });
      expect(opened!.read().schema.fields.map((field) => String(field.type))).toEqual([
        'Timestamp<MICROSECOND, UTC>',
        'Struct<{a:Timestamp<MICROSECOND, UTC>, b:Int32}>',
        'List<Timestamp<MICROSECOND, UTC>>',
        'Map<{key:Utf8, value:Timestamp<MICROSECOND, UTC>}>',
      ]);
      opened?.close();
      expect(JSON.parse(await fixture.text(`SELECT typeof(seen) AS t, typeof(s) AS s FROM ${handle} LIMIT 1`))).toEqual(
        {
          t: 'TIMESTAMP WITH TIME ZONE',
          s: 'STRUCT(a TIMESTAMP WITH TIME ZONE, b INTEGER)',
        },
      );
    }
  },
);

test('a map without values is the list of its keys', async () => {
  const file = withFooter(
    await parquetOf('SELECT 1 AS id, [1, 2] AS keys UNION ALL SELECT 2, []'),
    element('keys', annotate(CONVERTED.map)),
  );
  const rows = '{"id":1,"keys":[1,2]}\n{"id":2,"keys":[]}\n';
  expect(await outcomesOf(file)).toEqual({ put: `INT,ARRAY\n${rows}`, cold: `INT,ARRAY\n${rows}`, sql: rows });
});

describe('a file that cannot be read says why, and what to do', () => {
  const chunk =
    (change: Change): Change =>
    (fields) =>
      set(CHUNK.metadata, structField(change(thriftStruct(fields.get(CHUNK.metadata)) ?? new Map())))(fields);
  const codec = (value: number): Change =>
    each(FILE.groups, each(GROUP.columns, chunk(set(COLUMN.codec, numberField(value)))));

  test.each<readonly [string, Change, string, string]>([
    ['LZ4', codec(5), 'it is compressed with LZ4 in the deprecated framing of Hadoop', 'lz4_raw'],
    ['LZO', codec(3), 'its compression is not supported', 'zstd'],
    ['encrypted columns', set(FILE.encryption, structField(new Map())), 'it is encrypted', 'without encryption'],
    ['a decimal without digits', element('id', annotate(CONVERTED.decimal)), 'DECIMAL requires', 'write it again'],
    [
      'values of a negative length, on which DuckDB fails internally',
      element('u', set(ELEMENT.length, numberField(-3))),
      'its values or its footer contradict each other',
      'write it again',
    ],
  ])('%s', async (_, change, reason, hint) => {
    const file = withFooter(await parquetOf('SELECT 1::BIGINT AS id, uuid() AS u'), change);
    const failure = refused(`The Parquet file cannot be read: ${reason}`, hint);
    expect(await outcomesOf(file)).toMatchObject({ put: failure, cold: failure, sql: failure });
  });

  test.each<readonly [string, Change]>([
    ['is no list', set(FILE.schema, numberField(1))],
    ['is missing', (fields) => new Map([...fields].filter(([id]) => id !== FILE.schema))],
  ])('a schema that %s', async (_, change) => {
    const file = withFooter(await parquetOf('SELECT 1::BIGINT AS id, uuid() AS u'), change);
    const failure = refused('The schema of the Parquet file cannot be read.', 'write it again');
    expect(await outcomesOf(file)).toMatchObject({ put: failure, cold: failure, sql: failure });
  });

  test('10,001 columns', async () => {
    const columns = Array.from({ length: 10_001 }, (_, i) =>
      encodeStruct(
        new Map([
          [1, numberField(1)],
          [3, numberField(0)],
          [ELEMENT.name, { type: 8, bytes: Buffer.concat([Buffer.of(String(i).length), Buffer.from(String(i))]) }],
        ]),
      ),
    );
    const root = encodeStruct(
      new Map([
        [ELEMENT.name, { type: 8, bytes: Buffer.of(1, 97) }],
        [5, numberField(columns.length)],
      ]),
    );
    const file = withFooter(await parquetOf('SELECT 1 AS id'), set(FILE.schema, structsField([root, ...columns])));
    const failure = refused('The Parquet file has more than 10000 columns, including nested ones.', 'long format');
    expect(await outcomesOf(file)).toMatchObject({ put: failure, cold: failure, sql: failure });
  });

  test('names of more than 1 MiB', async () => {
    const names = Array.from({ length: 1025 }, (_, i) => String(i).padStart(1024, '_'));
    const file = await parquetOf(`SELECT ${names.map((name) => `1 AS "${name}"`).join()}`);
    const failure = refused('The names and metadata of the columns take 1049600 bytes; at most 1048576', 'Shorten');
    expect(await outcomesOf(file)).toMatchObject({ put: failure, cold: failure, sql: failure });
  });

  const group = (name: string, repetition: number, children: number): Uint8Array =>
    encodeStruct(
      new Map([
        [3, numberField(repetition)],
        [ELEMENT.name, { type: 8, bytes: Buffer.concat([Buffer.of(name.length), Buffer.from(name)]) }],
        [5, numberField(children)],
      ]),
    );
  const [OPTIONAL, REPEATED] = [1, 2];

  test.each([
    ['17 lists in each other', REPEATED, 17, 'lists that are nested more than 16 deep'],
    ['3000 lists in each other', REPEATED, 3000, 'lists that are nested more than 16 deep'],
    ['3000 structs in each other', OPTIONAL, 3000, 'groups that are nested more than 100 deep'],
  ])('%s', async (_, repetition, count, message) => {
    const groups = Array.from({ length: count }, () => group('g', repetition, 1));
    const leaf = encodeStruct(
      new Map([
        [1, numberField(1)],
        [3, numberField(OPTIONAL)],
        [ELEMENT.name, { type: 8, bytes: Buffer.of(1, 120) }],
      ]),
    );
    const schema = structsField([group('root', 0, 1), ...groups, leaf]);
    const file = withFooter(await parquetOf('SELECT 1 AS id'), set(FILE.schema, schema));
    const failure = refused(`The Parquet file has ${message}.`, 'Flatten the nested columns.');
    expect(await outcomesOf(file)).toMatchObject({ put: failure, cold: failure, sql: failure });
  });

  test('16 lists in each other are read', async () => {
    const file = await parquetOf(`SELECT ${'['.repeat(16)}7${']'.repeat(16)} AS a, [1, 2] AS b, {'c': [3]} AS d`);
    const { put, cold } = await outcomesOf(file);
    for (const rows of [put, cold])
      expect(rows).toContain(`{"a":${'['.repeat(16)}7${']'.repeat(16)},"b":[1,2],"d":{"c":[3]}}`);
  });

  test('an encrypted footer', async () => {
    const file = await parquetOf('SELECT 1 AS id');
    file.write('PARE', file.length - 4, 'latin1');
    const failure = refused('The Parquet file cannot be read: it is encrypted.', 'without encryption');
    expect(await outcomesOf(file)).toMatchObject({ put: failure, cold: failure, sql: failure });
  });
});
