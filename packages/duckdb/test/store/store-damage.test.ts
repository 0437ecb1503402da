import { open, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { type Engine, type FrameStream, type ReadOptions, streamFromTable } from '@svc/frames';
import { Dictionary, Float64, Int32, Int64, Table, Utf8, vectorFromArray } from 'apache-arrow';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import type { DurableStore } from '../../src/store/durable-store.ts';
import type { StoreProblem } from '../../src/store/catalogue/store-problem.ts';
import { createSqlEngine } from '../../src/sql/engine.ts';
import { textOf } from '../../src/testing/files-fixture.ts';
import { callOf } from '../../src/testing/sql-fixture.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

const files = createFrameFiles({ tempDirectory: tmpdir() });
const trades = refOf('trades');
/** More than one row group. */
const ROWS = 24_000;
let fixture: StoreFixture;
let store: DurableStore;
let problems: StoreProblem[];
let path: string;
let engine: Engine | undefined;

beforeEach(async () => {
  fixture = await createStoreFixture(files);
  await restart();
  await store.put(trades, someFrame(ROWS));
  [path = ''] = await fixture.parts('trades');
  await restart();
});

afterEach(async () => {
  await engine?.close();
  engine = undefined;
  await fixture.remove();
});
afterAll(() => files.close());

/** Creates an engine over the store that is open at the time. */
function createEngine(): Engine {
  return createSqlEngine({
    store: {
      pin: (options) => store.pin(options),
      handles: (tenant) => store.handles(tenant),
      describeAll: (tenant) => store.describeAll(tenant),
      home: fixture.directory,
      // Each store has files of its own in there.
      directories: () => [fixture.directory],
    },
    tempDirectory: tmpdir(),
    maxConcurrent: 1,
  });
}

async function query(sql: string): Promise<string> {
  engine ??= createEngine();
  const result = await engine.query(callOf(), sql);
  return textOf(result).finally(() => result.close());
}

/** Reopens the directory, with nothing in memory. */
async function restart(): Promise<void> {
  await store?.close();
  problems = [];
  store = await fixture.open({ cacheBytes: 0, onProblem: (problem) => problems.push(problem) });
}

function someFrame(rows: number): FrameStream {
  const numbers = Array.from({ length: rows }, (_, i) => i);
  return streamFromTable(
    new Table({
      id: vectorFromArray(numbers.map(BigInt), new Int64()),
      price: vectorFromArray(
        numbers.map((i) => ((i * 7919) % 100_003) / 7),
        new Float64(),
      ),
      side: vectorFromArray(
        numbers.map((i) => ['buy', 'sell', 'none'][(i * i) % 3]),
        new Dictionary(new Utf8(), new Int32()),
      ),
    }),
  );
}

async function read(options: ReadOptions = {}): Promise<string> {
  const frame = await store.open(trades);
  if (frame === undefined) throw new Error('The frame is gone.');
  try {
    return await textOf(frame.read(options));
  } finally {
    frame.close();
  }
}

/** Flips one bit of the frame's file. */
async function flip(bit: number): Promise<void> {
  const file = await open(path, 'r+');
  const at = Math.floor(bit / 8);
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, at);
  await file.write(Buffer.of((buffer[0] ?? 0) ^ (1 << (bit % 8))), 0, 1, at);
  await file.close();
}

/** Resolves with the rows of a read, or with `damaged`. */
function outcome(reading: Promise<string>): Promise<string> {
  return reading.catch((error: unknown) => {
    const { code, message } = error as { code?: string; message: string };
    expect({ code, message }).toEqual({
      code: 'internal',
      message: 'The frame "trades" cannot be read: its file is damaged.',
    });
    return 'damaged';
  });
}

const WAYS: readonly ReadOptions[] = [
  {},
  { offset: ROWS - 10, limit: 5 },
  { limit: 7, columns: ['side'] },
  { columns: ['price', 'id'] },
];
const STATEMENTS = [
  'SELECT bit_xor(hash(id, price, side)), count(*) FROM trades',
  "SELECT count(*), min(id) FROM trades WHERE side = 'sell'",
  'SELECT * FROM trades LIMIT 3',
];

describe('a flipped bit in a file', () => {
  /** Bits in the whole file, and as many in the part after the pages. */
  const FLIPS = 20;

  test(
    'is never a wrong value: reads and SQL return the right rows or an error that names the frame',
    { tags: ['slow'] },
    async () => {
      const readings = [...WAYS.map((way) => () => read(way)), ...STATEMENTS.map((sql) => () => query(sql))];
      const right: string[] = [];
      for (const reading of readings) right.push(await reading());
      const bits = 8 * (await readFile(path)).length;
      const tailBits = Math.min(bits, 8 * 2500);
      const places = Array.from({ length: FLIPS }, (_, i) => [
        Math.floor(((i + 0.5) * bits) / FLIPS),
        bits - tailBits + Math.floor(((i + 0.5) * tailBits) / FLIPS),
      ]).flat();
      for (const bit of places) {
        await flip(bit);
        await restart();
        const seen: string[] = [];
        for (const reading of readings) seen.push(await outcome(reading()));
        for (const [i, text] of seen.entries()) expect([right[i], 'damaged'], `bit ${bit}, read ${i}`).toContain(text);
        // Checksums cover every byte, so a read of the whole file detects it.
        expect(seen.slice(WAYS.length), `bit ${bit}`).toEqual(STATEMENTS.map(() => 'damaged'));
        await flip(bit);
      }
      await restart();
      for (const [i, reading] of readings.entries()) expect(await reading()).toBe(right[i]);
    },
  );
});

describe('a file that was written without checksums', () => {
  beforeEach(async () => {
    const bytes = await readFile(path);
    // Without these two markers, the file is like one from before checksums existed.
    for (const mark of ['SVC-CRC1', 'svc:checks']) bytes.write('x', bytes.lastIndexOf(mark));
    await writeFile(path, bytes);
    await restart();
  });

  test('can be read', { tags: ['slow'] }, async () => {
    expect((await read()).split('\n')).toHaveLength(ROWS + 1);
    expect(await query('SELECT count(*) AS n FROM trades')).toBe(`{"n":${ROWS}}\n`);
  });

  test('is an error of the frame in SQL if its pages are malformed', { tags: ['slow'] }, async () => {
    const bytes = await readFile(path);
    // No page after the first can be decompressed.
    bytes.fill(0xa5, 2000, bytes.length - 4000);
    await writeFile(path, bytes);
    expect(await outcome(query('SELECT sum(id), sum(price), max(side) FROM trades'))).toBe('damaged');
    expect(await outcome(read())).toBe('damaged');
    expect(await store.faults()).toMatchObject([{ kind: 'damaged_frame', handle: 'trades' }]);
  });
});

test('SQL that quotes the message of a damaged file is still an SQL error', { tags: ['slow'] }, async () => {
  await expect(
    query(`SELECT error('Failed to read file: ZSTD Decompression failure') FROM trades`),
  ).rejects.toMatchObject({ code: 'invalid_sql' });
  expect(await store.faults()).toEqual([]);
});

describe('a frame whose file is missing', () => {
  const error = { code: 'internal', message: 'The frame "trades" cannot be read: its file is missing.' };

  test.each<[string, () => Promise<unknown>, object]>([
    ['is read', () => read(), error],
    ['is read by SQL', () => query('SELECT count(*) FROM trades'), error],
  ])('is a fault when it %s, until the file is there again', async (_, use, outcomes) => {
    await rename(path, `${path}.away`);
    expect(await use().catch((thrown: unknown) => thrown)).toMatchObject(outcomes);
    expect(problems).toMatchObject([{ kind: 'damaged_frame', tenant: 'default', handle: 'trades' }]);
    expect(await store.faults()).toEqual([
      {
        kind: 'damaged_frame',
        message: 'The file of the frame "trades" is missing.',
        tenant: 'default',
        handle: 'trades',
      },
    ]);
    await rename(`${path}.away`, path);
    expect(await store.faults()).toEqual([]);
    expect((await read()).split('\n')).toHaveLength(ROWS + 1);
  });

  test('is a fault when it goes missing after a read, as soon as no reader has kept it', async () => {
    const before = await read();
    await rm(path);
    expect(await read()).toBe(before);
    await restart();
    await expect(read()).rejects.toMatchObject(error);
    expect(await store.faults()).toMatchObject([{ kind: 'damaged_frame', handle: 'trades' }]);
  });

  test('can be put again', async () => {
    await rm(path);
    await expect(read()).rejects.toMatchObject(error);
    await store.put(trades, someFrame(3));
    expect(await store.faults()).toEqual([]);
    expect((await read()).split('\n')).toHaveLength(4);
  });

  test('is not a fault of a read-only store: the holder of the directory may have replaced the frame', async () => {
    const reader = await fixture.open({ isReadOnly: true, onProblem: (problem) => problems.push(problem) });
    await reader.describe(trades);
    const { info } = await store.put(trades, someFrame(3));
    expect(await reader.describe(trades)).toMatchObject({ version: info.version });
    for (const part of await fixture.parts('trades')) await rm(part);
    await expect(rowsOf(reader, trades)).rejects.toMatchObject({ code: 'internal' });
    expect([await reader.faults(), problems]).toEqual([[], []]);
  });
});

describe('a damaged frame', () => {
  /** A bit in the pages of the first column. */
  const BIT = 8 * 400;

  test('is a fault and one problem until it is replaced', async () => {
    expect(await store.faults()).toEqual([]);
    await flip(BIT);
    expect(await outcome(read())).toBe('damaged');
    expect(await outcome(read())).toBe('damaged');
    expect(problems).toMatchObject([{ kind: 'damaged_frame', tenant: 'default', handle: 'trades' }]);
    expect(await store.faults()).toEqual([
      {
        kind: 'damaged_frame',
        message: 'The file of the frame "trades" is damaged.',
        tenant: 'default',
        handle: 'trades',
      },
    ]);
    await store.put(trades, someFrame(3));
    expect(await store.faults()).toEqual([]);
    expect((await read()).split('\n')).toHaveLength(4);
  });

  test('can be read again when its file is restored', async () => {
    const bytes = await readFile(path);
    await flip(BIT);
    expect(await outcome(read())).toBe('damaged');
    await writeFile(`${path}.copy`, bytes);
    await rename(`${path}.copy`, path);
    expect(await store.faults()).toEqual([]);
    expect((await read()).split('\n')).toHaveLength(ROWS + 1);
  });

  test('returns the rows and columns that are not damaged', { tags: ['slow'] }, async () => {
    const window = { offset: ROWS - 10, limit: 5 };
    const before = await read(window);
    await flip(BIT);
    expect(await read(window)).toBe(before);
    expect(await outcome(read({ limit: 5 }))).toBe('damaged');
  });

  test('stays damaged when rows are appended to it, which are intact', async () => {
    await flip(BIT);
    expect(await outcome(read())).toBe('damaged');
    expect(await store.append(trades, someFrame(1))).toMatchObject({ info: { rows: ROWS + 1 } });
    expect(await store.faults()).toMatchObject([{ kind: 'damaged_frame', handle: 'trades' }]);
    expect(await outcome(read())).toBe('damaged');
    expect((await read({ offset: ROWS })).split('\n')).toHaveLength(2);
  });

  test('is detected by the next read if its file changes after a read', async () => {
    await read();
    await flip(BIT);
    expect(await outcome(read())).toBe('damaged');
  });

  test('is detected at the next start even if the file keeps its timestamps', { tags: ['slow'] }, async () => {
    await utimes(path, 1, 1);
    await read();
    await flip(BIT);
    await utimes(path, 1, 1);
    await restart();
    expect(await outcome(read())).toBe('damaged');
  });
});
