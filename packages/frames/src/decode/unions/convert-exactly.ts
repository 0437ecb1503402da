import { Data, DataType, DateUnit, type Field, TimeUnit, Vector, vectorFromArray } from 'apache-arrow';
import { typeOf } from '../../arrow-types.ts';
import { setBit } from '../../columns/bits.ts';
import { arrayTypeOf, chunksOf, valuesOf } from '../../columns/arrow-data.ts';
import { elementsPerRow, type Values } from '../../columns/column-data.ts';
import { integerAt } from '../../columns/decimal-words.ts';
import { isIdentical } from './common-type.ts';

/** Converts a column to the type that `commonField` chose. `refuse` returns the error of a value that would change. */
export function convertExactly(
  column: Data,
  from: Field,
  to: Field,
  refuse: (row: number, value: number | bigint) => Error,
): Data {
  if (!DataType.isDictionary(typeOf(from)) && isIdentical(from, to)) return column;
  const type = typeOf(to);
  if (DataType.isUtf8(type) || DataType.isBinary(type)) return copied(column, type);
  const stride = elementsPerRow(type);
  const target = new (arrayTypeOf(type))(column.length * stride);
  const validity = new Uint8Array(Math.ceil(column.length / 8));
  let nullCount = 0;
  const read = numbersOf(column, type);
  for (let row = 0; row < column.length; row++) {
    const { value, converted } = read(row);
    if (value === undefined) nullCount++;
    else if (converted === undefined || !setExactly(target, row, stride, converted)) throw refuse(row, value);
    else setBit(validity, row);
  }
  return new Data(type, 0, column.length, nullCount, [undefined, target, validity]);
}

function copied(column: Data, type: DataType): Data {
  const [data] = vectorFromArray<DataType>([...new Vector([column])], type).data;
  if (data === undefined) throw new Error('A vector has no data.');
  return data;
}

/** A number of a column, undefined if it is null; and the same in the unit of the target, undefined if it has none. */
interface Cell {
  readonly value?: number | bigint;
  readonly converted?: number | bigint;
}

/** Returns a reader of the numbers of a column. */
function numbersOf(column: Data, target: DataType): (row: number) => Cell {
  const [dictionary] = chunksOf(column.dictionary);
  const values = dictionary ?? column;
  const type: DataType = values.type;
  const words = valuesOf(values);
  const isFloat = DataType.isFloat(type);
  // A half float is decoded by the vector.
  const floats = new Vector([values]);
  const [from, to] = isFloat ? [1n, 1n] : [ticksOf(type), ticksOf(target)];
  return (row) => {
    if (!column.getValid(row)) return {};
    const at = dictionary === undefined ? row : Number(valuesOf(column)[row]);
    if (!values.getValid(at)) return {};
    if (isFloat) {
      const value = Number(floats.get(at));
      return { value, converted: value };
    }
    const value = DataType.isDecimal(type) ? integerAt(words, at, elementsPerRow(type)) : BigInt(words[at] ?? 0);
    const ticks = value * from;
    return ticks % to === 0n ? { value, converted: ticks / to } : { value };
  };
}

const NANOSECONDS: Readonly<Record<TimeUnit, bigint>> = {
  [TimeUnit.SECOND]: 1_000_000_000n,
  [TimeUnit.MILLISECOND]: 1_000_000n,
  [TimeUnit.MICROSECOND]: 1000n,
  [TimeUnit.NANOSECOND]: 1n,
};
const DAY = 86_400n * NANOSECONDS[TimeUnit.SECOND];

/** Returns the size of 1 in a type, relative to the types that it has a common type with. */
function ticksOf(type: DataType): bigint {
  if (DataType.isTimestamp(type) || DataType.isTime(type)) return NANOSECONDS[type.unit];
  if (DataType.isDate(type)) return type.unit === DateUnit.DAY ? DAY : NANOSECONDS[TimeUnit.MILLISECOND];
  return 10n ** BigInt(MAX_SCALE - (DataType.isDecimal(type) ? type.scale : 0));
}

/** No common type has more digits after the point. */
const MAX_SCALE = 38;

/** Sets a number, and returns whether it is unchanged. */
function setExactly(target: Values, row: number, stride: number, value: number | bigint): boolean {
  if (typeof value === 'number') {
    target[row] = value;
    return Object.is(target[row], value);
  }
  if (stride > 1) {
    for (let i = 0; i < stride; i++) target[row * stride + i] = Number(BigInt.asUintN(32, value >> BigInt(32 * i)));
    return integerAt(target, row, stride) === value;
  }
  if (target instanceof BigInt64Array || target instanceof BigUint64Array) target[row] = value;
  else target[row] = Number(value);
  const kept = target[row] ?? 0;
  return (typeof kept === 'bigint' || Number.isFinite(kept)) && BigInt(kept) === value;
}
