import { Float64, makeData } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { writtenCells } from '../../../test/written-cells.ts';
import { createRandomWords } from '../../../test/random-words.ts';

function writtenDoubles(values: readonly number[]): string[] {
  return writtenCells(makeData({ type: new Float64(), nullCount: 0, data: Float64Array.from(values) }));
}

/** The output of JavaScript, but with the sign of zero. */
function expected(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

const BATCH_VALUES = 10_000;

/** Fails with the first value whose text differs from JavaScript's, without a call of `expect` for each. */
function expectSame(values: Iterable<number>): void {
  let batch: number[] = [];
  const checkBatch = (): void => {
    const written = writtenDoubles(batch);
    const wrong = batch.findIndex((value, i) => written[i] !== expected(value));
    if (wrong >= 0) expect(written[wrong]).toBe(expected(batch[wrong]));
    batch = [];
  };
  for (const value of values) {
    batch.push(value);
    if (batch.length === BATCH_VALUES) checkBatch();
  }
  checkBatch();
}

/** Random bits; with `isUsual`, exponents of numbers between 10^-7 and 10^17. */
function* randomDoubles(count: number, { isUsual }: { isUsual: boolean }): Generator<number> {
  const word = createRandomWords(1);
  const double = new Float64Array(1);
  const words = new Uint32Array(double.buffer);
  for (let i = 0; i < count; i++) {
    words[0] = word();
    words[1] = isUsual ? (word() & 0x800fffff) | ((1000 + (word() % 80)) << 20) : word();
    yield double[0];
  }
}

/** Decimals with few digits, and the adjacent doubles. */
function* nearDecimals(count: number): Generator<number> {
  const word = createRandomWords(2);
  for (let i = 0; i < count; i++) {
    const decimal = (word() >>> (word() & 31)) / 10 ** (word() % 12);
    yield decimal * (1 + ((word() % 5) - 2) * 2 ** -52);
  }
}

function powers(base: number, from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => base ** (from + i));
}

describe('a double is written as JavaScript writes it', () => {
  test.each<[name: string, values: () => Iterable<number>]>([
    ['10 million random bit patterns', () => randomDoubles(10_000_000, { isUsual: false })],
    ['4 million of usual size', () => randomDoubles(4_000_000, { isUsual: true })],
    ['2 million at and next to decimals', () => nearDecimals(2_000_000)],
  ])('%s', { tags: ['slow'], timeout: 120_000 }, (_name, values) => {
    expectSame(values());
  });

  test('powers of two and of ten, and the adjacent doubles', () => {
    for (const power of [...powers(2, -1074, 1024), ...powers(10, -323, 309)]) {
      expectSame([power, power * (1 + 2 ** -52), power * (1 - 2 ** -53), -power]);
    }
  });

  test.each([
    0,
    -0,
    5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    2 ** 53 + 2,
    1e-6,
    1e-6 - 2 ** -72,
    1e16,
    9999999999999998,
    0.1 + 0.2,
    1 / 3,
    123456.7890123456,
    2 ** 52 + 1.5,
    1e21,
    123456789012345680000,
  ])('%d', (value) => {
    expect(writtenDoubles([value, -value])).toEqual([expected(value), expected(-value)]);
  });
});
