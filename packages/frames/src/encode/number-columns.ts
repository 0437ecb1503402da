import { type Data, type Float, type Int, Precision } from 'apache-arrow';
import type { CellOptions } from './cell-options.ts';
import { type CellWriter, type ColumnWriter, quotedColumn, writeAscii, writeNull } from './cell-writer.ts';
import { DOUBLE_BYTES, writeDouble, writeFloat } from './write-float.ts';
import { INT64_BYTES, writeInt64, writeInteger, writeUint64 } from './write-number.ts';

const FALSE_BYTES = 5;

/** Integers of 8 to 64 bits. */
export function integerColumn(data: Data, type: Int, options: CellOptions): ColumnWriter {
  const column = { write: integerWriter(data, type), fixedBytes: INT64_BYTES };
  const isLong = type.bitWidth === 64 || (type.bitWidth === 32 && !type.isSigned);
  return isLong && options.syntax === 'json' && options.quoteLargeNum ? quotedColumn(column) : column;
}

function integerWriter({ values }: Data, type: Int): CellWriter {
  if (type.bitWidth < 64) return (out, at, row) => writeInteger(out, at, values[row]);
  const words = wordsOf(values);
  if (type.isSigned) return (out, at, row) => writeInt64(out, at, words[2 * row], words[2 * row + 1]);
  return (out, at, row) => writeUint64(out, at, words[2 * row], words[2 * row + 1]);
}

/** 64-bit values as pairs of 32-bit words, low one first: reading them makes no BigInt. */
export function wordsOf(values: BigInt64Array | BigUint64Array): Int32Array {
  return new Int32Array(values.buffer, values.byteOffset, values.length * 2);
}

/** Floats of 16 to 64 bits. JSON has no number for what is not finite. */
export function floatColumn({ values }: Data, type: Float, { syntax }: CellOptions): ColumnWriter {
  const write = syntax === 'json' ? jsonFloatWriter(values, type.precision) : csvFloatWriter(values, type.precision);
  return { write, fixedBytes: DOUBLE_BYTES };
}

// One closure for each width, each with its own calls: a call that is always the same is compiled in line.
function jsonFloatWriter(values: ArrayLike<number>, precision: Precision): CellWriter {
  if (precision === Precision.DOUBLE) {
    return (out, at, row) => {
      const value = values[row];
      return Number.isFinite(value) ? writeDouble(out, at, value) : writeNull(out, at);
    };
  }
  const read = precision === Precision.HALF ? floatFromHalf : (value: number): number => value;
  return (out, at, row) => {
    const value = read(values[row]);
    return Number.isFinite(value) ? writeFloat(out, at, value) : writeNull(out, at);
  };
}

function csvFloatWriter(values: ArrayLike<number>, precision: Precision): CellWriter {
  const read = precision === Precision.HALF ? floatFromHalf : (value: number): number => value;
  const write = precision === Precision.DOUBLE ? writeDouble : writeFloat;
  return (out, at, row) => {
    const value = read(values[row]);
    return Number.isFinite(value) ? write(out, at, value) : writeAscii(out, at, String(value));
  };
}

function floatFromHalf(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits >> 15 ? -1 : 1;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** Booleans, a bit each. */
export function booleanColumn(data: Data): ColumnWriter {
  const { offset } = data;
  const bits: Uint8Array = data.values;
  return {
    write: (out, at, row) => {
      const isTrue = (bits[(offset + row) >> 3] >> ((offset + row) & 7)) & 1;
      if (isTrue) {
        out[at] = 116;
        out[at + 1] = 114;
        out[at + 2] = 117;
        out[at + 3] = 101;
        return at + 4;
      }
      out[at] = 102;
      out[at + 1] = 97;
      out[at + 2] = 108;
      out[at + 3] = 115;
      out[at + 4] = 101;
      return at + 5;
    },
    fixedBytes: FALSE_BYTES,
  };
}
