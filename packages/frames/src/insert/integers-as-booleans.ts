import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { Bool, Data, DataType, Field, type Schema } from 'apache-arrow';
import { typeOf } from '../arrow-types.ts';
import { valuesOf } from '../columns/arrow-data.ts';
import type { FrameStream } from '../frame-stream.ts';
import { convertColumns } from './convert-columns.ts';

/**
 * Converts integers that are inserted into columns of booleans: SQLAlchemy binds 1 and 0. Any other number is
 * `invalid_data`.
 */
export function integersAsBooleans(frame: Schema, rows: FrameStream): FrameStream {
  const wanted = new Map(frame.fields.map((field) => [field.name, field]));
  const targetOf = (from: Field): Field<Bool> | undefined => {
    const to = wanted.get(from.name);
    const isFlag = to !== undefined && DataType.isBool(typeOf(to)) && DataType.isInt(typeOf(from));
    return isFlag ? new Field(from.name, new Bool(), from.nullable) : undefined;
  };
  return convertColumns(rows, targetOf, booleansOf);
}

function booleansOf(column: Data, { name, type }: Field<Bool>, firstRow: number): Data {
  const values = valuesOf(column);
  const bits = new Uint8Array((column.length + 7) >> 3);
  for (let row = 0; row < column.length; row++) {
    if (!column.getValid(row)) continue;
    const value = Number(values[row]);
    if (value === 1) bits[row >> 3] = (bits[row >> 3] ?? 0) | (1 << (row & 7));
    else if (value !== 0) throw notBoolean(name, firstRow + row + 1, String(values[row]));
  }
  const validity = column.nullCount === 0 ? new Uint8Array(0) : column.nullBitmap;
  return new Data(type, 0, column.length, column.nullCount, [undefined, bits, validity]);
}

function notBoolean(name: string, row: number, value: string): ServiceError {
  return new ServiceError('invalid_data', `Row ${row}, column ${quoted(name)}: ${value} is not exactly a BOOLEAN.`, {
    hint: 'Of the integers, only 1 (true) and 0 (false) are booleans.',
  });
}
