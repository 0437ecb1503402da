import {
  type DuckDBConnection,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import {
  encodeArrowStream,
  encodeCsv,
  encodeJsonTable,
  encodeNdjson,
  type FrameStream,
  parseHandle,
  streamFromTable,
} from '@svc/frames';
import { streamOfBatches } from '@svc/frames/testing';
import {
  Bool,
  Float64,
  Int32,
  Int64,
  type RecordBatch,
  type Schema,
  Table,
  tableFromIPC,
  TimestampMicrosecond,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runs } from '../../../../test/tier.ts';
import { randomRows, type RandomRow, randomSelect } from '../random-select.ts';
import { callOf, createSqlFixture, type SqlFixture } from '../../src/testing/sql-fixture.ts';

const FRAMES = 8;
const SELECTS_PER_FRAME = 25;

let fixture: SqlFixture;
let reference: DuckDBConnection;

beforeAll(async () => {
  // No cache: stored frames are read from their files.
  fixture = await createSqlFixture({}, { cacheBytes: 0 });
  reference = await (await DuckDBInstance.create(':memory:')).connect();
  await reference.run("SET TimeZone = 'UTC'");
});

afterAll(() => fixture.close());

function frameOf(rows: readonly RandomRow[]): FrameStream {
  const column = <K extends keyof RandomRow>(key: K): RandomRow[K][] => rows.map((row) => row[key]);
  const millis = column('t').map((seconds) => (seconds === null ? null : seconds * 1000));
  return streamFromTable(
    new Table({
      k: vectorFromArray(column('k'), new Int32()),
      i: vectorFromArray(column('i'), new Int64()),
      d: vectorFromArray(column('d'), new Float64()),
      s: vectorFromArray(column('s'), new Utf8()),
      t: vectorFromArray(millis, new TimestampMicrosecond()),
      b: vectorFromArray(column('b'), new Bool()),
      n: vectorFromArray(
        rows.map((_, at) => at),
        new Int32(),
      ),
    }),
  );
}

/** Creates the same frame as a DuckDB table, from values in SQL. */
async function createReference(name: string, rows: readonly RandomRow[]): Promise<void> {
  await reference.run(
    `CREATE OR REPLACE TABLE ${name} (k INTEGER, i BIGINT, d DOUBLE, s VARCHAR, t TIMESTAMP, b BOOLEAN, n INTEGER)`,
  );
  for (const [n, { k, i, d, s, t, b }] of rows.entries()) {
    const text = s === null ? 'NULL' : `'${s.replaceAll("'", "''")}'`;
    const digits = Object.is(d, -0) ? '-0.0' : String(d).replace('Infinity', 'inf');
    const double = d === null ? 'NULL' : `'${digits}'::DOUBLE`;
    const time = t === null ? 'NULL' : `make_timestamp(${t}000000)`;
    await reference.run(`INSERT INTO ${name} VALUES (${k}, ${i}, ${double}, ${text}, ${time}, ${b}, ${n})`);
  }
}

/** Returns a DuckDB value as in our JSON, with numbers of 64 bits and more as strings. */
function toJson(value: DuckDBValue): unknown {
  return jsonOf(value, String);
}

function jsonOf(value: DuckDBValue, ofBigint: (value: bigint) => unknown): unknown {
  const inner = (item: DuckDBValue): unknown => jsonOf(item, ofBigint);
  if (typeof value === 'bigint') return ofBigint(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (value instanceof DuckDBTimestampValue)
    return `${isoOf(value.micros, 1000n)}${String(modulo(value.micros, 1000n)).padStart(3, '0')}Z`;
  if (value instanceof DuckDBDateValue) return `${isoOf(BigInt(value.days) * 86_400_000n, 1n)}Z`;
  if (value instanceof DuckDBListValue) return value.items.map(inner);
  if (value instanceof DuckDBMapValue) return value.entries.map(({ key, value: item }) => [inner(key), inner(item)]);
  if (value instanceof DuckDBDecimalValue) return value.toString();
  if (value instanceof DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([key, item]) => [key, inner(item)]));
  }
  return value;
}

function modulo(value: bigint, by: bigint): bigint {
  return ((value % by) + by) % by;
}

function isoOf(value: bigint, perMilli: bigint): string {
  return new Date(Number((value - modulo(value, perMilli)) / perMilli)).toISOString().slice(0, -1);
}

/** A result that can be read repeatedly. */
interface StoredResult {
  readonly schema: Schema;
  readonly batches: readonly RecordBatch[];
}

async function resultOf(sql: string): Promise<StoredResult> {
  const result = await fixture.engine.query(callOf(), sql);
  const batches: RecordBatch[] = [];
  for await (const batch of result.batches) batches.push(batch);
  return { schema: result.schema, batches };
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of chunks) parts.push(part.slice());
  return Buffer.concat(parts).toString();
}

async function linesOf(stream: FrameStream): Promise<unknown[]> {
  const text = await textOf(encodeNdjson(stream, { quoteLargeNum: true }));
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => Object.values(JSON.parse(line)));
}

/** Parses CSV cells: a quoted cell is a string, an empty one is null. */
function cellsOf(csv: string): (string | null)[][] {
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r]*))(,|\r\n)/y;
  const rows: (string | null)[][] = [[]];
  for (let match = pattern.exec(csv); match !== null; match = pattern.exec(csv)) {
    const [, quoted, plain = '', end] = match;
    const cell = quoted === undefined ? plain || null : quoted.replaceAll('""', '"');
    rows.at(-1)?.push(cell);
    if (end !== ',') rows.push([]);
  }
  return rows.slice(1, -1);
}

/** Parses a CSV cell in the form of the expected DuckDB value. */
function cellAs(cell: string | null, value: DuckDBValue): unknown {
  if (cell === null || value === null) return cell;
  if (typeof value === 'number') return Number(cell);
  if (typeof value === 'boolean') return cell === 'true';
  return typeof jsonOf(value, String) === 'string' ? cell : JSON.parse(cell);
}

/** Returns the DuckDB value that `cellAs` should produce. A date has no time in CSV. */
function asCell(value: DuckDBValue): unknown {
  if (typeof value === 'number') return value;
  const text = value instanceof DuckDBDateValue ? value.toString() : jsonOf(value, String);
  return typeof text === 'string' ? text : jsonOf(value, Number);
}

async function expectInEveryFormat(
  sql: string,
  { schema, batches }: StoredResult,
  rows: readonly DuckDBValue[][],
): Promise<void> {
  const stream = (): FrameStream => streamOfBatches(schema, batches);
  const expected = rows.map((row) => row.map(toJson));
  expect(await linesOf(stream()), sql).toEqual(expected);
  const table = await textOf(encodeJsonTable(stream(), { query: sql, quoteLargeNum: true }));
  expect(JSON.parse(table), sql).toMatchObject({ query: sql, dataset: expected, count: expected.length });
  const cells = cellsOf(await textOf(encodeCsv(stream())));
  expect(
    cells.map((row, r) => row.map((cell, c) => cellAs(cell, rows[r]?.[c] ?? null))),
    sql,
  ).toEqual(rows.map((row) => row.map(asCell)));
  const arrow = tableFromIPC(encodeArrowStream(stream()));
  expect(await linesOf(streamFromTable(await arrow)), sql).toEqual(expected);
  // Parquet is covered by writing and reading a stored frame.
  const ref = { tenant: 'default', handle: parseHandle('result') };
  await fixture.store.put(ref, stream());
  const kept = await fixture.store.open(ref);
  expect(await linesOf(kept?.read() ?? stream()), sql).toEqual(expected);
  kept?.close();
}

test(`${runs(FRAMES) * SELECTS_PER_FRAME} random SELECTs on random frames return the same rows as DuckDB, in every format`, async () => {
  const length = { minLength: SELECTS_PER_FRAME, maxLength: SELECTS_PER_FRAME };
  const frames = fc.tuple(randomRows, randomRows, fc.array(randomSelect, length));
  const property = fc.asyncProperty(frames, async ([one, two, selects]) => {
    for (const [name, rows] of Object.entries({ one, two })) {
      await fixture.store.put({ tenant: 'default', handle: parseHandle(name) }, frameOf(rows));
      await createReference(name, rows);
    }
    for (const sql of selects) {
      const expected = await reference.runAndReadAll(sql).catch(() => undefined);
      // SQL that DuckDB refuses must fail here, too.
      if (expected === undefined) await expect(resultOf(sql), sql).rejects.toMatchObject({ code: 'invalid_sql' });
      else await expectInEveryFormat(sql, await resultOf(sql), expected.getRows());
    }
  });
  await fc.assert(property, { numRuns: runs(FRAMES), endOnFailure: true });
}, 120_000);
