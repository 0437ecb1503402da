import { streamFromTable } from '@svc/frames';
import { writeFile } from 'node:fs/promises';
import {
  Dictionary,
  Float16,
  Float32,
  Float64,
  Int8,
  makeVector,
  List,
  Field,
  Struct,
  Table,
  type Vector,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFilesFixture, type FilesFixture, textOf } from '../testing/files-fixture.ts';

// DuckDB dictionary-encodes frequent values, and its dictionary holds 0 and -0 as one value.
const ZEROS = Array.from({ length: 5000 }, (_, i) => (i % 2 === 0 ? 0 : -0));
const COLUMNS: Readonly<Record<string, () => Vector>> = {
  doubles: () => vectorFromArray(ZEROS, new Float64()),
  'floats of 32 bits': () => vectorFromArray(ZEROS, new Float32()),
  'floats of 16 bits': () => vectorFromArray(ZEROS, new Float16()),
  'a dictionary': () => dictionaryOfZeros(),
  lists: () =>
    vectorFromArray(
      ZEROS.map((zero) => [zero, 1]),
      new List(new Field('item', new Float64(), true)),
    ),
  structs: () =>
    vectorFromArray(
      ZEROS.map((zero) => ({ z: zero })),
      new Struct([new Field('z', new Float64(), true)]),
    ),
  'one behind many rows': () => vectorFromArray([...ZEROS.map(() => 0), ...ZEROS.map(() => 1.5), -0], new Float64()),
};

/** apache-arrow's own dictionary builder merges both zeros. */
function dictionaryOfZeros(): Vector {
  const data = Int8Array.from(ZEROS, (_, i) => i % 2);
  const dictionary = vectorFromArray([0, -0], new Float64());
  return makeVector({ type: new Dictionary(new Float64(), new Int8()), data, dictionary });
}

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await createFilesFixture();
});
afterAll(() => fixture.close());

function frameOf(vector: Vector): ReturnType<typeof streamFromTable> {
  return streamFromTable(new Table({ v: vector }));
}

async function readBack(path: string): Promise<string> {
  const source = { kind: 'parquet', path } as const;
  return textOf(fixture.files.read(source, await fixture.describe(source)));
}

describe('the sign of zero is kept', () => {
  test.each(Object.entries(COLUMNS))('in batches: %s', async (_name, vector) => {
    expect(await fixture.roundTrip(frameOf(vector()))).toBe(await textOf(frameOf(vector())));
  });

  test.each(Object.entries(COLUMNS))('in merged files: %s', async (_name, vector) => {
    const [plain, zeros, both] = [fixture.path(), fixture.path(), fixture.path()];
    const first = await fixture.files.write(plain, frameOf(vector().slice(0, 1)), { compression: 'zstd' });
    const second = await fixture.files.write(zeros, frameOf(vector()), { compression: 'zstd' });
    const parts = [
      { path: plain, size: first },
      { path: zeros, size: second },
    ];
    await fixture.files.merge({ kind: 'parts', parts }, first, both, { compression: 'zstd' });
    const wanted = (await textOf(frameOf(vector().slice(0, 1)))) + (await textOf(frameOf(vector())));
    expect(await readBack(both)).toBe(wanted);
  });

  // The file changes its options before the batch with the first -0.
  test.each([0, 65_536, 131_072, 300_000])('behind %i other rows, which keep their order', async (rows) => {
    const numbers = Float64Array.from({ length: rows + 150_000 }, (_, i) => (i === rows ? -0 : i));
    expect(await fixture.roundTrip(frameOf(makeVector(numbers)))).toBe(await textOf(frameOf(makeVector(numbers))));
  });

  test('in a CSV file', async () => {
    const [csv, path] = [`${fixture.path()}.csv`, fixture.path()];
    await writeFile(csv, `v\n${ZEROS.map((zero) => (Object.is(zero, -0) ? '-0.0' : '0.0')).join('\n')}\n`);
    await fixture.files.convert({ kind: 'csv', path: csv }, path, { compression: 'zstd' });
    expect(await readBack(path)).toBe(await textOf(frameOf(vectorFromArray(ZEROS, new Float64()))));
  });
});

test('a frame with a negative zero has as many rows and bytes as one without', async () => {
  const write = (zero: number): ReturnType<typeof fixture.files.write> =>
    fixture.files.write(fixture.path(), frameOf(vectorFromArray([...ZEROS.map(() => 0), zero, 2], new Float64())), {
      compression: 'zstd',
    });
  const [without, negative] = [await write(0), await write(-0)];
  expect([negative.rows, negative.arrowBytes]).toEqual([without.rows, without.arrowBytes]);
});
