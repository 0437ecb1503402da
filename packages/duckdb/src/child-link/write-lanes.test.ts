// Uploads that are written in lanes: their row groups are in one file, in the order of the rows.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Field, Float64, makeData, RecordBatch, Schema, Struct } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { footerOf } from '../child/files/checksums.ts';
import { layoutOf } from '../child/files/parquet-layout.ts';
import { WITHOUT_DICTIONARIES } from '../files/copied-rows.ts';
import { copyOptions, FILE_NOTES } from '../files/source-sql.ts';
import { type BatchPayload, createBatchEncoder } from '../types/batch-codec.ts';
import { sqlText } from '../wire/sql-names.ts';
import { createFileChild, type FileChild } from './file-child.ts';

const SCHEMA = new Schema([new Field('x', new Float64(), true)]);
const GROUP_ROWS = 5000;
const GROWING = [
  { from: 0, groupRows: 2048 },
  { from: 4096, groupRows: GROUP_ROWS },
];

let directory: string;
let engine: FileChild;
let paths = 0;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-lanes-'));
  engine = createFileChild({ tempDirectory: directory });
});
afterAll(async () => {
  await engine.close();
  await rm(directory, { recursive: true });
});

/** Rows whose value is their number, unless `valueAt` says otherwise. */
interface Rows {
  readonly total: number;
  readonly batchRows: (batch: number) => number;
  readonly valueAt?: (row: number) => number;
}

async function* payloads({ total, batchRows, valueAt = (row) => row }: Rows): AsyncGenerator<BatchPayload> {
  const encoder = createBatchEncoder();
  for (let start = 0, batch = 0; start < total; batch += 1) {
    const length = Math.min(total - start, batchRows(batch));
    const first = start;
    const values = Float64Array.from({ length }, (_, i) => valueAt(first + i));
    const column = makeData({ type: new Float64(), data: values, length, nullCount: 0 });
    const rows = makeData({ type: new Struct(SCHEMA.fields), length, nullCount: 0, children: [column] });
    yield* encoder.encode(new RecordBatch(SCHEMA, rows));
    start += length;
  }
}

function write(batches: AsyncIterator<BatchPayload>, path: string, signal?: AbortSignal): Promise<unknown> {
  const columns = [{ name: 'x', title: 'x', plan: { kind: 'copy', width: 8, type: 'DOUBLE' } }] as const;
  const segments = {
    tailPaths: [`${path}.tail`, `${path}.tail-2`],
    options: copyOptions(SCHEMA, { compression: 'zstd' }),
    growing: GROWING,
    exact: WITHOUT_DICTIONARIES,
  };
  return engine.write({ op: 'write', path, segments, notes: FILE_NOTES, columns }, batches, { signal });
}

const newPath = (): string => join(directory, `${paths++}.parquet`);

async function valuesIn(path: string): Promise<number[]> {
  const rows = await engine.call({ op: 'texts', sql: `SELECT x::VARCHAR FROM read_parquet(${sqlText(path)})` });
  return rows.map(([text]) => Number(text));
}

const numbers = (length: number): number[] => Array.from({ length }, (_, i) => i);

describe('the rows of an upload are in order', () => {
  test.each([
    ['one row in the lanes', 4097, 4096],
    ['a full row group', 4096 + GROUP_ROWS, 4096],
    ['one row for the second lane', 4097 + GROUP_ROWS, 4096],
    ['two full row groups', 4096 + 2 * GROUP_ROWS, 4096],
    ['three row groups and one row', 4097 + 3 * GROUP_ROWS, 4096],
    ['many row groups', 4096 + 31 * GROUP_ROWS + 17, 4096],
    ['short batches', 4096 + 3 * GROUP_ROWS + 17, 61],
    ['batches longer than a row group', 100_000, 17_001],
  ])('%s', async (_name, total, batchRows) => {
    const path = newPath();
    expect(await write(payloads({ total, batchRows: () => batchRows }), path)).toMatchObject({ rows: total });
    expect(await valuesIn(path)).toEqual(numbers(total));
    const { groupRows, chunks } = layoutOf(await footerOf(path));
    const inLanes = groupRows.slice(groupRows.findLastIndex((rows, i) => rows <= 2048 && i < groupRows.length - 1) + 1);
    expect(inLanes.slice(0, -1).every((rows) => rows === GROUP_ROWS)).toBe(true);
    expect(chunks.map(({ group }) => group)).toEqual(numbers(groupRows.length));
  });

  test('in batches of any length', async () => {
    const lengths = numbers(60).map((i) => 1 + ((i * 7919) % 3001));
    const total = lengths.reduce((sum, length) => sum + length, 0);
    const path = newPath();
    await write(payloads({ total, batchRows: (batch) => lengths[batch] ?? 1 }), path);
    expect(await valuesIn(path)).toEqual(numbers(total));
  });

  test('of several uploads at once, of which one has several lanes', async () => {
    const total = 60_000;
    const own = numbers(5).map(() => newPath());
    await Promise.all(own.map((path) => write(payloads({ total, batchRows: () => 3000 }), path)));
    for (const path of own) expect(await valuesIn(path)).toEqual(numbers(total));
  });

  test('with a -0 between them, which is kept', async () => {
    const total = 60_000;
    const path = newPath();
    const valueAt = (row: number): number => (row === 33_333 ? -0 : row % 10);
    await write(payloads({ total, batchRows: () => 3000, valueAt }), path);
    expect(await valuesIn(path)).toEqual(numbers(total).map(valueAt));
  });
});

test('values with dictionaries are found by their Bloom filters', async () => {
  const total = 60_000;
  const path = newPath();
  await write(payloads({ total, batchRows: () => 3000, valueAt: (row) => 2 * Math.floor(row / 3000) }), path);
  const from = `FROM read_parquet(${sqlText(path)})`;
  const metadata = `SELECT count(bloom_filter_offset)::VARCHAR FROM parquet_metadata(${sqlText(path)})`;
  expect(Number((await engine.call({ op: 'texts', sql: metadata })).flat()[0])).toBeGreaterThan(10);
  for (const value of numbers(42)) {
    const found = await engine.call({ op: 'texts', sql: `SELECT count(*)::VARCHAR ${from} WHERE x = ${value}` });
    expect([value, found]).toEqual([value, [[value % 2 === 0 && value < 40 ? '3000' : '0']]]);
  }
});

describe('nothing is left of an upload', () => {
  test('that fails while it is written in lanes', async () => {
    const path = newPath();
    async function* failing(): AsyncGenerator<BatchPayload> {
      yield* payloads({ total: 40_000, batchRows: () => 3000 });
      throw new Error('The client is gone.');
    }
    await expect(write(failing(), path)).rejects.toThrow('The client is gone.');
    expect((await readdir(directory)).filter((name) => join(directory, name).startsWith(path))).toEqual([]);
  });

  test('that is cancelled while it is written in lanes, and the next one has lanes again', async () => {
    const path = newPath();
    const controller = new AbortController();
    async function* endless(): AsyncGenerator<BatchPayload> {
      for (let round = 0; ; round += 1) {
        yield* payloads({ total: 30_000, batchRows: () => 3000 });
        if (round === 2) controller.abort(new Error('enough'));
      }
    }
    await expect(write(endless(), path, controller.signal)).rejects.toThrow('enough');
    expect((await readdir(directory)).filter((name) => join(directory, name).startsWith(path))).toEqual([]);
    const next = newPath();
    await write(payloads({ total: 50_000, batchRows: () => 3000 }), next);
    expect(await valuesIn(next)).toEqual(numbers(50_000));
  });
});
