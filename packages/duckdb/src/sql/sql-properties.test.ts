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
import { encodeNdjson, type FrameStream, parseHandle, streamFromTable } from '@svc/frames';
import { Bool, Float64, Int32, Int64, Table, TimestampMicrosecond, Utf8, vectorFromArray } from 'apache-arrow';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomRows, type RandomRow, randomSelect } from '../../test/random-select.ts';
import { callOf, createSqlFixture, type SqlFixture } from '../testing/sql-fixture.ts';

const FRAMES = 8;
const SELECTS_PER_FRAME = 25;

let fixture: SqlFixture;
let reference: DuckDBConnection;

beforeAll(async () => {
  fixture = await createSqlFixture();
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

/** The same frame as a table of DuckDB, made of values in SQL. */
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

/** A value of DuckDB as our JSON has it, with numbers of 64 bits and more as texts. */
function toJson(value: DuckDBValue): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (value instanceof DuckDBTimestampValue)
    return `${isoOf(value.micros, 1000n)}${String(modulo(value.micros, 1000n)).padStart(3, '0')}Z`;
  if (value instanceof DuckDBDateValue) return `${isoOf(BigInt(value.days) * 86_400_000n, 1n)}Z`;
  if (value instanceof DuckDBListValue) return value.items.map(toJson);
  if (value instanceof DuckDBMapValue) return value.entries.map(({ key, value: item }) => [toJson(key), toJson(item)]);
  if (value instanceof DuckDBDecimalValue) return value.toString();
  if (value instanceof DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([key, item]) => [key, toJson(item)]));
  }
  return value;
}

function modulo(value: bigint, by: bigint): bigint {
  return ((value % by) + by) % by;
}

function isoOf(value: bigint, perMilli: bigint): string {
  return new Date(Number((value - modulo(value, perMilli)) / perMilli)).toISOString().slice(0, -1);
}

async function answerOf(sql: string): Promise<unknown[]> {
  const answer = await fixture.engine.query(callOf(), sql);
  const bytes: Uint8Array[] = [];
  for await (const part of encodeNdjson(answer, { quoteLargeNum: true })) bytes.push(part.slice());
  const lines = Buffer.concat(bytes).toString().split('\n').slice(0, -1);
  return lines.map((line) => Object.values(JSON.parse(line)));
}

test(`${FRAMES * SELECTS_PER_FRAME} random SELECTs over random frames are answered as by DuckDB itself`, async () => {
  const length = { minLength: SELECTS_PER_FRAME, maxLength: SELECTS_PER_FRAME };
  const frames = fc.tuple(randomRows, randomRows, fc.array(randomSelect, length));
  const property = fc.asyncProperty(frames, async ([one, two, selects]) => {
    for (const [name, rows] of Object.entries({ one, two })) {
      await fixture.store.put({ tenant: 'default', handle: parseHandle(name) }, frameOf(rows));
      await createReference(name, rows);
    }
    for (const sql of selects) {
      const expected = await reference.runAndReadAll(sql).catch(() => undefined);
      // What it refuses, it refuses for everybody.
      if (expected === undefined) await expect(answerOf(sql), sql).rejects.toMatchObject({ code: 'invalid_sql' });
      else expect(await answerOf(sql), sql).toEqual(expected.getRows().map((row) => row.map(toJson)));
    }
  });
  await fc.assert(property, { numRuns: FRAMES, endOnFailure: true });
}, 120_000);
