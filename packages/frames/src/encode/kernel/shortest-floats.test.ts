import { Float32, makeData } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { writtenCells } from '../../../test/written-cells.ts';
import { createRandomWords } from '../../../test/random-words.ts';

function writtenFloats(values: ArrayLike<number>): string[] {
  return writtenCells(makeData({ type: new Float32(), nullCount: 0, data: Float32Array.from(values) }));
}

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);
function floatFromBits(word: number): number {
  bits[0] = word;
  return float[0];
}

/** The decimal with the fewest digits that reads back as the float, searched on both sides of it. */
function expected(value: number): string {
  for (let digits = 1; digits <= 9; digits++) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split('e');
    const n = BigInt(mantissa.replace('.', ''));
    for (const step of [0n, 1n, -1n]) {
      const decimal = Number(`${n + step}e${Number(exponent) - digits + 1}`);
      if (Math.fround(decimal) === value) return String(decimal);
    }
  }
  throw new Error(`Nine digits are not enough for ${value}.`);
}

/** The number of digits of a text, without leading and trailing zeros. */
function digitCount(text: string): number {
  let first = -1;
  let last = -1;
  let point = Infinity;
  for (let i = 0; i < text.length && text[i] !== 'e'; i++) {
    if (text[i] === '.') point = i;
    else if (text[i] >= '1' && text[i] <= '9') {
      if (first < 0) first = i;
      last = i;
    }
  }
  return last - first + (first < point && point < last ? 0 : 1);
}

/** Whether a text reads back as the float, one digit less does not, and no other of its length is closer. */
function isShortest(value: number, text: string): boolean {
  const decimal = Number(text);
  const digits = digitCount(text);
  if (Math.fround(decimal) !== value || Number(value.toPrecision(digits)) !== decimal) return false;
  return digits === 1 || Math.fround(Number(value.toPrecision(digits - 1))) !== value;
}

const BATCH_VALUES = 10_000;

function expectShortest(count: number, randomFloat: (word: () => number) => number): void {
  const word = createRandomWords(3);
  for (let done = 0; done < count; done += BATCH_VALUES) {
    const values = Array.from({ length: BATCH_VALUES }, () => randomFloat(word));
    const written = writtenFloats(values);
    values.forEach((value, i) => {
      if (Number.isFinite(value) && value !== 0 && !isShortest(value, written[i])) {
        expect(written[i]).toBe(expected(value));
      }
    });
  }
}

describe('a float is written with the fewest digits that read back as it', () => {
  test('10 million random bit patterns', { tags: ['slow'], timeout: 120_000 }, () => {
    expectShortest(10_000_000, (word) => floatFromBits(word()));
  });

  test('3 million of usual size', { tags: ['slow'], timeout: 120_000 }, () => {
    expectShortest(3_000_000, (word) => floatFromBits((word() & 0x807fffff) | ((107 + (word() % 50)) << 23)));
  });

  test('powers of two, the smallest floats, and the adjacent floats', () => {
    const values: number[] = [];
    for (let exponent = 0; exponent < 255; exponent++) {
      for (const word of [0, 1, 2, 0x7ffffe, 0x7fffff]) values.push(floatFromBits((exponent << 23) | word));
    }
    for (let word = 1; word < 3000; word++) values.push(floatFromBits(word));
    const positive = values.filter((value) => value !== 0);
    expect(writtenFloats(positive)).toEqual(positive.map(expected));
  });

  test.each([
    [0.1, '0.1'],
    [16777216, '16777216'],
    [33554432, '33554432'],
    [3.4028234663852886e38, '3.4028235e+38'],
    [1.401298464324817e-45, '1e-45'],
    [1.1754943508222875e-38, '1.1754944e-38'],
    [9.999999974752427e-7, '0.000001'],
    [4194304.5, '4194304.5'],
    [-0, '-0'],
    [-1.5, '-1.5'],
  ])('%d is %s', (value, text) => {
    expect(writtenFloats([value])).toEqual([text]);
  });
});
