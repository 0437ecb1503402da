import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { Data, DataType, type Decimal, Field, Float64, Int64, type Schema } from 'apache-arrow';
import { typeOf } from '../arrow-types.ts';
import { columnInfo } from '../column-types.ts';
import { valuesOf } from '../columns/arrow-data.ts';
import { integerAt } from '../columns/decimal-words.ts';
import type { FrameStream } from '../frame-stream.ts';
import { convertColumns } from './convert-columns.ts';

/**
 * Converts decimals that are inserted into columns of other numbers: `1.5` is a decimal in SQL. A floating-point column gets
 * the nearest double; a decimal that is not a whole number does not fit in an integer column: `invalid_data`.
 */
export function decimalsAsNumbers(frame: Schema, rows: FrameStream): FrameStream {
  const wanted = new Map(frame.fields.map((field) => [field.name, field]));
  return convertColumns(rows, (from) => numberFor(from, wanted.get(from.name)), numbersOf);
}

/** Returns the column that a decimal column becomes; undefined if it stays as it is. */
function numberFor(from: Field, to: Field | undefined): Field<Float64 | Int64> | undefined {
  if (to === undefined || !DataType.isDecimal(typeOf(from))) return undefined;
  if (DataType.isFloat(typeOf(to))) return new Field(from.name, new Float64(), from.nullable);
  return DataType.isInt(typeOf(to)) ? new Field(from.name, new Int64(), from.nullable) : undefined;
}

function numbersOf(column: Data, target: Field<Float64 | Int64>, firstRow: number): Data {
  const { scale: digits } = decimalOf(column);
  const words = valuesOf(column);
  const scale = 10n ** BigInt(digits);
  const isFloat = DataType.isFloat(target.type);
  const numbers = isFloat ? new Float64Array(column.length) : new BigInt64Array(column.length);
  for (let row = 0; row < column.length; row++) {
    if (!column.getValid(row)) continue;
    const unscaled = integerAt(words, row, column.stride);
    if (numbers instanceof Float64Array) numbers[row] = Number(`${unscaled}e-${digits}`);
    else numbers[row] = unscaled / scale;
    const isExact = numbers instanceof Float64Array || (numbers[row] ?? 0n) * scale === unscaled;
    if (!isExact) throw notWhole(target, firstRow + row + 1, textOf(unscaled, digits));
  }
  const validity = column.nullCount === 0 ? new Uint8Array(0) : column.nullBitmap;
  return new Data(target.type, 0, column.length, column.nullCount, [undefined, numbers, validity]);
}

function decimalOf({ type }: { readonly type: DataType }): Decimal {
  if (!DataType.isDecimal(type)) throw new TypeError('The column has no decimals.');
  return type;
}

function textOf(unscaled: bigint, scale: number): string {
  const digits = `${unscaled < 0n ? -unscaled : unscaled}`.padStart(scale + 1, '0');
  const sign = unscaled < 0n ? '-' : '';
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function notWhole(to: Field, row: number, value: string): ServiceError {
  const type = columnInfo(to).type;
  return new ServiceError('invalid_data', `Row ${row}, column ${quoted(to.name)}: ${value} is not exactly a ${type}.`, {
    hint: 'Round the value in the SQL, for example with round() and a cast.',
  });
}
