import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { typeOf } from '../arrow-types.ts';
import { columnInfo } from '../column-types.ts';
import { type Data, DataType, type Field, makeData, Precision, TimeUnit, vectorFromArray } from 'apache-arrow';

/** Whether values of one type can become values of another, provided that each converts exactly. */
export function isConvertible(from: DataType, to: DataType): boolean {
  // A column with only nulls is decoded as text, as no value determines its type.
  if (DataType.isUtf8(from)) return true;
  // Without a zone, a timestamp is a local time; with one, it is an instant.
  if (DataType.isTimestamp(from) && DataType.isTimestamp(to)) return !from.timezone === !to.timezone;
  return createNumbers(from, 0) !== undefined && createNumbers(to, 0) !== undefined;
}

/** Converts a column to another type. Throws `invalid_data` with the first value that would change. */
export function convertColumn(column: Data, to: Field): Data {
  const { length, nullCount } = column;
  const from: DataType = column.type;
  const type = typeOf(to);
  const source: unknown = column.values;
  const scale = DataType.isTimestamp(from) && DataType.isTimestamp(type) ? unitScale(from.unit, type.unit) : undefined;
  const target = scale ? new BigInt64Array(length) : createNumbers(type, length);
  const isNumeric = scale !== undefined || createNumbers(from, 0) !== undefined;
  if (target === undefined || !isNumeric || !isNumbers(source)) return nullsOf(column, to);
  const nulls = nullCount === 0 ? undefined : new Uint8Array(Math.ceil(length / 8));
  for (let row = 0; row < length; row++) {
    const value = source[row];
    if (value === undefined || !column.getValid(row)) continue;
    if (nulls) nulls[row >> 3] = (nulls[row >> 3] ?? 0) | (1 << (row & 7));
    const scaled = scale === undefined ? value : scale(BigInt(value));
    if (scaled === undefined || !setExactly(target, row, scaled)) throw notExact(to, shownValue(value, from));
  }
  const parts = { length, nullCount, nullBitmap: nulls ?? null, data: target };
  return makeData({ type, ...parts });
}

const UNITS: Readonly<Record<TimeUnit, { readonly name: string; readonly nanos: bigint }>> = {
  [TimeUnit.SECOND]: { name: 's', nanos: 1_000_000_000n },
  [TimeUnit.MILLISECOND]: { name: 'ms', nanos: 1_000_000n },
  [TimeUnit.MICROSECOND]: { name: 'µs', nanos: 1000n },
  [TimeUnit.NANOSECOND]: { name: 'ns', nanos: 1n },
};

/** Converts values between units. Returns undefined for a value that is not a whole number of the new unit. */
function unitScale(from: TimeUnit, to: TimeUnit): (value: bigint) => bigint | undefined {
  const [old, next] = [UNITS[from].nanos, UNITS[to].nanos];
  if (old >= next) return (value) => value * (old / next);
  const divisor = next / old;
  return (value) => (value % divisor === 0n ? value / divisor : undefined);
}

type SmallNumbers =
  Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array;
type Numbers = SmallNumbers | BigInt64Array | BigUint64Array;

/** Creates an array for values of a numeric type; undefined for other types. */
function createNumbers(type: DataType, length: number): Numbers | undefined {
  if (DataType.isFloat(type)) {
    if (type.precision === Precision.HALF) return undefined;
    return type.precision === Precision.DOUBLE ? new Float64Array(length) : new Float32Array(length);
  }
  if (!DataType.isInt(type)) return undefined;
  switch (type.bitWidth) {
    case 8:
      return type.isSigned ? new Int8Array(length) : new Uint8Array(length);
    case 16:
      return type.isSigned ? new Int16Array(length) : new Uint16Array(length);
    case 32:
      return type.isSigned ? new Int32Array(length) : new Uint32Array(length);
    case 64:
      return type.isSigned ? new BigInt64Array(length) : new BigUint64Array(length);
    default:
      return undefined;
  }
}

function isNumbers(values: unknown): values is Numbers {
  return ArrayBuffer.isView(values) && !(values instanceof DataView);
}

function isBig(numbers: Numbers): numbers is BigInt64Array | BigUint64Array {
  return numbers instanceof BigInt64Array || numbers instanceof BigUint64Array;
}

function isFloats(numbers: Numbers): boolean {
  return numbers instanceof Float32Array || numbers instanceof Float64Array;
}

/**
 * Sets a value, and returns whether it is unchanged: a value that does not fit wraps around or is rounded, and an integer
 * has no negative zero.
 */
function setExactly(target: Numbers, row: number, value: number | bigint): boolean {
  if (Object.is(value, -0) && !isFloats(target)) return false;
  if (isBig(target)) {
    if (typeof value === 'number' && !Number.isInteger(value)) return false;
    const whole = BigInt(value);
    target[row] = whole;
    return target[row] === whole;
  }
  target[row] = Number(value);
  const kept = target[row];
  if (typeof value === 'bigint') return Number.isFinite(kept) && BigInt(kept) === value;
  return kept === value || (Number.isNaN(kept) && Number.isNaN(value));
}

function nullsOf(column: Data, to: Field): Data {
  if (column.nullCount < column.length) {
    throw new ServiceError(
      'invalid_data',
      `Column ${quoted(to.name)} is ${columnInfo(to).type} in the frame, but has strings in the rows to append.`,
      { hint: 'Send the values in the type of the frame, for example as Arrow, or replace the frame.' },
    );
  }
  const [nulls] = vectorFromArray(Array<null>(column.length).fill(null), typeOf(to)).data;
  if (nulls === undefined) throw new Error('A vector has no data.');
  return nulls;
}

function shownValue(value: number | bigint, type: DataType): string {
  const text = Object.is(value, -0) ? '-0' : String(value);
  return DataType.isTimestamp(type) ? `${text} ${UNITS[type.unit].name}` : text;
}

function notExact(to: Field, shown: string): ServiceError {
  return new ServiceError(
    'invalid_data',
    `The value ${shown} of column ${quoted(to.name)} in the rows to append does not fit: the frame's column is ${columnInfo(to).type}.`,
    { hint: 'Replace the frame, with a wider type for this column.' },
  );
}
