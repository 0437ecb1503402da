import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { columnInfo } from '@svc/frames';
import { longFrame, SAMPLE_FRAMES, streamOfSample } from '@svc/frames/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { footerOf } from '../../src/child/files/checksums.ts';
import type { FileSource } from '../../src/files/frame-files.ts';
import { createFilesFixture, type FilesFixture, textOf } from '../../src/testing/files-fixture.ts';

const EXOTIC = `SELECT 1::HUGEINT h, 5::UHUGEINT uh, 'ok'::mood m, INTERVAL '1 year 2 days 3 hours' - INTERVAL '4.5 seconds' i,
  '101'::BIT b, '12:00:00+02'::TIMETZ tz, [1, 2]::INT[2] arr, [170141183460469231731687303715884105727::HUGEINT, NULL] lh,
  {'a': INTERVAL 1 DAY, 'B': 'sad'::mood} s, MAP {'k': 1.5::DECIMAL(10, 2)} mp, union_value(num := 2) u,
  '01234567-89ab-cdef-0123-456789abcdef'::UUID id, '2024-01-01'::TIMESTAMP_S ts, '2024-01-01'::TIMESTAMP_NS tn,
  '12:00:00.123456789'::TIME_NS t9, 'infinity'::DATE inf, 'x'::BLOB bl, '2024-01-01 00:00:00+02'::TIMESTAMPTZ z,
  18446744073709551615::UBIGINT ub, 1.5::FLOAT f, true AS yes`;

let fixture: FilesFixture;
let database: string;
let parquet: string;
beforeAll(async () => {
  fixture = await createFilesFixture();
  database = join(fixture.folder, 'a database.duckdb');
  parquet = fixture.path();
  const instance = await DuckDBInstance.create(database);
  const connection = await instance.connect();
  await connection.run("CREATE TYPE mood AS ENUM ('sad', 'ok')");
  await connection.run(`CREATE TABLE "The Table" AS ${EXOTIC}`);
  await connection.run('CREATE TABLE empty (a INT, file_row_number INT)');
  await connection.run(
    `COPY (SELECT i AS file_row_number, 'x' || i AS name FROM range(100) r(i)) TO '${parquet.replaceAll("'", "''")}' (FORMAT parquet)`,
  );
  connection.disconnectSync();
  instance.closeSync();
});
afterAll(() => fixture.close());

const ROW =
  '{"h":1,"uh":"5","m":"ok","i":"P1Y2DT2H59M55.5S","b":"101","tz":"12:00:00+02","arr":[1,2],' +
  '"lh":[170141183460469231731687303715884105727,null],"s":{"a":"P1D","B":"sad"},"mp":[["k","1.50"]],"u":"2",' +
  '"id":"01234567-89ab-cdef-0123-456789abcdef","ts":"2024-01-01T00:00:00.000000Z","tn":"2024-01-01T00:00:00.000000000Z",' +
  '"t9":"12:00:00.123456789","inf":"infinity","bl":"eA==","z":"2023-12-31T22:00:00.000000Z","ub":18446744073709551615,"f":1.5,"yes":true}\n';

test('the tables of a database are listed, and a missing database is created', async () => {
  expect(await fixture.files.tables(database)).toEqual(['The Table', 'empty']);
  expect(await fixture.files.tables(join(fixture.folder, 'new.duckdb'))).toEqual([]);
});

test('every DuckDB type can be read, and reads back the same from a file of ours', async () => {
  const source: FileSource = { kind: 'table', path: database, table: 'The Table' };
  const info = await fixture.describe(source);
  expect(info.schema.fields.map((field) => columnInfo(field).type).join(' ')).toBe(
    'LONG128 STRING SYMBOL INTERVAL STRING STRING ARRAY ARRAY STRUCT MAP STRING UUID TIMESTAMP TIMESTAMP_NS TIME DATE BINARY TIMESTAMP ULONG FLOAT BOOLEAN',
  );
  expect(await textOf(fixture.files.read(source, info))).toBe(ROW);
  const path = fixture.path();
  const written = await fixture.files.convert(source, path, { compression: 'lz4' });
  expect(String(written.schema)).toBe(String(info.schema));
  expect(await textOf(fixture.files.read({ kind: 'parquet', path }, written))).toBe(ROW);
  const merged = fixture.path();
  const part = { path, size: written };
  const twice = { kind: 'parts', parts: [part, part] } as const;
  const all = await fixture.files.merge(twice, written, merged, { compression: 'gzip' });
  expect(await textOf(fixture.files.read({ kind: 'parquet', path: merged }, all))).toBe(ROW + ROW);
});

test('a foreign Parquet file is read in place, even if a column has the name of a DuckDB virtual column', async () => {
  const source: FileSource = { kind: 'parquet', path: parquet };
  const info = await fixture.describe(source);
  expect(info).toMatchObject({ rows: 100, isForeign: true });
  expect(await textOf(fixture.files.read(source, info, { offset: 98 }))).toBe(
    '{"file_row_number":98,"name":"x98"}\n{"file_row_number":99,"name":"x99"}\n',
  );
});

// DuckDB reports the end of a stream and a failure in its middle alike.
test(
  'a CSV file of others that has changed far behind its first rows is not read as if it ended there',
  { tags: ['slow'] },
  async () => {
    const path = `${fixture.path()}.csv`;
    const rows = Array.from({ length: 400_000 }, (_, i) => `${i},x\n`).join('');
    await writeFile(path, `id,s\n${rows}400000,y\n`);
    const source: FileSource = { kind: 'csv', path };
    const info = await fixture.describe(source);
    await writeFile(path, `id,s\n${rows}oops,y\n`);
    await expect(textOf(fixture.files.read(source, info))).rejects.toMatchObject({
      code: 'invalid_data',
      message: 'The CSV file has changed since its types were detected.',
    });
  },
);

test('a file of ours that is uploaded again keeps its types', async () => {
  const path = fixture.path();
  const first = await fixture.files.convert({ kind: 'table', path: database, table: 'The Table' }, path, {
    compression: 'zstd',
  });
  const again = fixture.path();
  const second = await fixture.files.convert({ kind: 'parquet', path }, again, { compression: 'zstd' });
  expect(String(second.schema)).toBe(String(first.schema));
  expect(await textOf(fixture.files.read({ kind: 'parquet', path: again }, second))).toBe(ROW);
});

test('a file of ours without columns, copied as a foreign one, has its rows', async () => {
  const path = fixture.path();
  const sample = SAMPLE_FRAMES.find(({ name }) => name === 'without columns');
  if (sample === undefined) throw new Error('There is no such sample.');
  await fixture.files.write(path, streamOfSample(sample), { compression: 'none' });
  const source: FileSource = { kind: 'parquet', path };
  expect(await textOf(fixture.files.read(source, await fixture.describe(source)))).toBe('{}\n{}\n{}\n');
});

describe('a file of ours that another program has written again, with the metadata of before', () => {
  /** Writes the result of a query over a file with three rows `id`, with the metadata of that file. */
  async function rewrite(query: (file: string) => string): Promise<FileSource> {
    const path = fixture.path();
    await fixture.files.write(path, longFrame(3), { compression: 'none' });
    const again = fixture.path();
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const sql = (text: unknown): string => (typeof text === 'string' ? `'${text.replaceAll("'", "''")}'` : '');
    const file = sql(path.replaceAll(/[*?[]/g, '[$&]'));
    const notes = await connection.runAndReadAll(`SELECT decode(key), decode(value) FROM parquet_kv_metadata(${file})
      WHERE decode(key) LIKE 'svc:%'`);
    const metadata = notes.getRowsJson().map(([key, value]) => `${sql(key)}: ${sql(value)}`);
    expect(metadata.length).toBeGreaterThan(2);
    const options = `FORMAT parquet, KV_METADATA {${metadata.join(', ')}}`;
    await connection.run(`COPY (${query(file)}) TO ${sql(again)} (${options})`);
    connection.disconnectSync();
    instance.closeSync();
    return { kind: 'parquet', path: again };
  }

  test.each([
    ['another type', () => "SELECT 'a text' AS id", '{"id":"a text"}\n'],
    [
      'more rows',
      (file: string) => `SELECT * FROM ${file} UNION ALL SELECT 7`,
      '{"id":0}\n{"id":1}\n{"id":2}\n{"id":7}\n',
    ],
    ['fewer rows', (file: string) => `SELECT * FROM ${file} WHERE id = 1`, '{"id":1}\n'],
    ['no rows', (file: string) => `SELECT * FROM ${file} WHERE false`, ''],
    ['one more column', (file: string) => `SELECT *, 'x' AS b FROM ${file} WHERE id = 1`, '{"id":1,"b":"x"}\n'],
    ['the same rows', (file: string) => `SELECT * FROM ${file}`, '{"id":0}\n{"id":1}\n{"id":2}\n'],
  ])('has what it has now: %s', async (_, query, rows) => {
    const source = await rewrite(query);
    expect(await textOf(fixture.files.read(source, await fixture.describe(source)))).toBe(rows);
    const path = fixture.path();
    const written = await fixture.files.convert(source, path, { compression: 'none' });
    expect(await textOf(fixture.files.read({ kind: 'parquet', path }, written))).toBe(rows);
  });
});

test.each([
  ['nothing', '', 'it is too short'],
  ['a word', 'abc', 'it is too short'],
  ['something else', 'a,b\n1,2\n3,4\n5,6\n', 'it does not end with the bytes PAR1'],
  ['a footer that is none', 'PAR1 nonsense PAR1', 'the length of its footer is wrong'],
])('a Parquet file of %s is invalid data, and its path is not told', async (_, content, fault) => {
  const path = fixture.path();
  await writeFile(path, content);
  const error: unknown = await fixture.files
    .convert({ kind: 'parquet', path }, fixture.path(), { compression: 'none' })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'invalid_data', message: `The Parquet file cannot be read: ${fault}.` });
});

test.each(['', 'abc'])('the bytes %j are too few for a footer', async (content) => {
  const path = fixture.path();
  await writeFile(path, content);
  await expect(footerOf(path)).rejects.toThrow('too small to be a Parquet file');
});

test('only the broken one of several sources is an error', async () => {
  const good = { kind: 'parquet', path: parquet } as const;
  const broken = { kind: 'parquet', path: fixture.path() } as const;
  await writeFile(broken.path, 'PAR1 nonsense PAR1');
  expect(await fixture.files.describe([good, broken, good])).toMatchObject([
    { rows: 100 },
    { code: 'invalid_data' },
    { rows: 100 },
  ]);
});

test('a missing file is an error, but not one about its contents', async () => {
  const [missing] = await fixture.files.describe([{ kind: 'parquet', path: join(fixture.folder, 'missing') }]);
  expect(missing).toBeInstanceOf(Error);
  expect(missing).not.toMatchObject({ code: 'invalid_data' });
});

test('only the broken ones of many files described together are errors', { tags: ['slow'] }, async () => {
  const path = fixture.path();
  await fixture.files.write(path, longFrame(2), { compression: 'zstd' });
  const isBroken = (i: number): boolean => i === 7 || i === 299;
  const sources = await Promise.all(
    Array.from({ length: 300 }, async (_, i): Promise<FileSource> => {
      const copy = fixture.path();
      await (isBroken(i) ? writeFile(copy, 'PAR1 and no more') : copyFile(path, copy));
      return { kind: 'parquet', path: copy };
    }),
  );
  const described = await fixture.files.describe([...sources, { kind: 'parquet', path: parquet }]);
  expect(described.map((info) => (info instanceof Error ? info.message : info.rows))).toEqual([
    ...sources.map((_, i) =>
      isBroken(i) ? 'The Parquet file cannot be read: it does not end with the bytes PAR1.' : 2,
    ),
    100,
  ]);
});

describe('a Parquet file put as a frame', () => {
  /** Two columns of one row each, `p95` and `name`: DuckDB cannot write two names that differ only in case. */
  async function fileWith(name: 'P95' | 'p95'): Promise<string> {
    const path = fixture.path();
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const rows = "SELECT 1 AS p95, 2 AS q95, {'x': 3} AS s";
    await connection.run(`COPY (${rows}) TO '${path.replaceAll("'", "''")}' (FORMAT parquet)`);
    connection.disconnectSync();
    instance.closeSync();
    await writeFile(path, Buffer.from((await readFile(path)).toString('latin1').replaceAll('q95', name), 'latin1'));
    return path;
  }

  test('keeps names that differ only in case', async () => {
    const source: FileSource = { kind: 'parquet', path: await fileWith('P95') };
    const path = fixture.path();
    const written = await fixture.files.convert(source, path, { compression: 'lz4' });
    expect(await textOf(fixture.files.read({ kind: 'parquet', path }, written))).toBe(
      '{"p95":1,"P95":2,"s":{"x":3}}\n',
    );
  });

  test('is refused if it has a duplicate column name', async () => {
    const source: FileSource = { kind: 'parquet', path: await fileWith('p95') };
    await expect(fixture.files.convert(source, fixture.path(), { compression: 'lz4' })).rejects.toMatchObject({
      code: 'invalid_data',
      message: 'The Parquet file has two columns with the name "p95".',
    });
  });
});
