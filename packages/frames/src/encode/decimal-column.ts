import type { Data, Decimal, Field } from 'apache-arrow';
import { columnTypeName } from '../column-types.ts';
import type { CellOptions } from './cell-options.ts';
import { type ColumnWriter, quotedColumn, writeAscii } from './cell-writer.ts';
import { writeInteger } from './write-number.ts';

const TWO_32 = 4_294_967_296;
/** Digits of a whole number of so many bits, and its sign. */
const DIGIT_BYTES: Readonly<Record<number, number>> = { 32: 11, 64: 20, 128: 40, 256: 78 };

/** Decimals of 32 to 256 bits, and 128-bit integers, which are decimals of scale 0 that say so. */
export function decimalColumn(data: Data, field: Field, type: Decimal, options: CellOptions): ColumnWriter {
  const wordsPerValue = type.bitWidth / 32;
  const { scale } = type;
  const values: Uint32Array | Int32Array = data.values;
  const words = new Int32Array(values.buffer, values.byteOffset, values.byteLength / 4);
  const column: ColumnWriter = {
    write: (out, at, row) => {
      const first = row * wordsPerValue;
      const n = smallNumber(words, first, wordsPerValue);
      const to = Number.isSafeInteger(n)
        ? writeInteger(out, at, n)
        : writeAscii(out, at, String(largeNumber(words, first, wordsPerValue)));
      return scale === 0 ? to : placePoint(out, at, to, scale);
    },
    // Beside the digits: the point, the zero before it, and the zeros a scale can add.
    fixedBytes: DIGIT_BYTES[type.bitWidth] + 2 + Math.abs(scale),
  };
  if (options.syntax === 'csv') return column;
  if (columnTypeName(field) === 'LONG128' && !options.quoteLargeNum) return column;
  return quotedColumn(column);
}

/** The value where it is a safe integer; any other number is not, whatever it is. */
function smallNumber(words: Int32Array, first: number, count: number): number {
  if (count === 1) return words[first];
  const high = words[first + 1];
  for (let i = first + 2; i < first + count; i++) if (words[i] !== high >> 31) return Number.NaN;
  return high * TWO_32 + (words[first] >>> 0);
}

function largeNumber(words: Int32Array, first: number, count: number): bigint {
  let value = BigInt(words[first + count - 1]);
  for (let i = first + count - 2; i >= first; i--) value = (value << 32n) | BigInt(words[i] >>> 0);
  return value;
}

/** Puts the point of a decimal into the digits from `start` to `end`; a scale below zero adds zeros. */
function placePoint(out: Uint8Array, start: number, end: number, scale: number): number {
  const first = out[start] === 45 ? start + 1 : start;
  if (scale < 0) {
    if (out[first] === 48) return end;
    out.fill(48, end, end - scale);
    return end - scale;
  }
  // As many zeros in front as it takes for one digit to stand before the point.
  const zeros = Math.max(0, scale + 1 - (end - first));
  const point = end + zeros - scale;
  for (let i = end - 1; i >= first; i--) {
    const to = i + zeros;
    out[to < point ? to : to + 1] = out[i];
  }
  for (let i = 0; i < zeros; i++) out[first + i < point ? first + i : first + i + 1] = 48;
  out[point] = 46;
  return end + zeros + 1;
}
