import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { Bool, Data, DataType, type Decimal, Field, Float64, Int64, type RecordBatch, Schema } from 'apache-arrow';
import { columnInfo, typeOf } from '../column-types.ts';
import { integerAt } from '../columns/column-data.ts';
import { isConvertible, isSameType, underSchema, withMissingColumns } from '../columns/match-columns.ts';
import { createRecordBatch, valuesOf } from '../columns/record-batch.ts';
import { sliceData } from '../columns/slice-batches.ts';
import { decodeRowsHere } from '../decode/decode-here.ts';
import { isReadable } from '../decode/json/json-column.ts';
import { encodeNdjson } from '../encode/row-formats.ts';
import type { FrameStream } from '../streams.ts';

/**
 * Returns rows as a frame takes them in an append: each column is for one column of the frame, in order, whatever its name,
 * and has its type. `columns`: which columns; others are null. Default: all. Another number of columns, or a column that
 * the frame does not have, is `invalid_argument`; a value that would change is `invalid_data`.
 */
export function rowsToInsert(frame: Schema, rows: FrameStream, columns?: readonly string[]): FrameStream {
  const names = frame.fields.map(({ name }) => name);
  const targets = columns ?? names;
  const unfilled = new Set(names);
  for (const name of targets) {
    if (unfilled.delete(name)) continue;
    const isKnown = names.includes(name);
    throw wrongColumns(
      frame,
      isKnown ? `Column ${quoted(name)} is named twice.` : `The frame has no column ${quoted(name)}.`,
    );
  }
  const { fields, metadata } = rows.schema;
  if (fields.length !== targets.length) {
    throw wrongColumns(frame, `The rows have ${fields.length} values, but ${targets.length} columns are to be filled.`);
  }
  const schema = new Schema(
    fields.map((field, i) => field.clone({ name: targets[i] ?? field.name })),
    metadata,
  );
  return fitRows(frame, withMissingColumns(frame, { schema, batches: renamed(schema, rows) }));
}

async function* renamed(schema: Schema, { batches }: FrameStream): FrameStream['batches'] {
  for await (const batch of batches) yield underSchema(schema, batch);
}

function wrongColumns({ fields }: Schema, message: string): ServiceError {
  const names = fields.slice(0, 20).map(({ name }) => quoted(name));
  const more = fields.length > names.length ? ', …' : '';
  return new ServiceError('invalid_argument', message, {
    hint: `The columns of the frame are: ${names.join(', ')}${more}.`,
  });
}

/**
 * Converts rows to the types of the frame they are inserted into: texts are read as its types, and a number or a time
 * may be of another type that holds the same value. A value that would change is `invalid_data` with its row and column.
 * What an append takes or converts by itself is left to it.
 */
export function fitRows(frame: Schema, inserted: FrameStream): FrameStream {
  const rows = integersAsBooleans(frame, decimalsAsNumbers(frame, inserted));
  const wanted = new Map(frame.fields.map((field) => [field.name, field]));
  const conversions = rows.schema.fields.flatMap((from, place): Conversion[] => {
    const to = wanted.get(from.name);
    return to && needsConversion(from, to) ? [{ place, from, to, how: conversionOf(from, to) }] : [];
  });
  if (conversions.length === 0) return rows;
  const converted = new Map(conversions.map(({ place, to }) => [place, to]));
  const fields = rows.schema.fields.map((field, place) => converted.get(place) ?? field);
  const schema = new Schema(fields, rows.schema.metadata);
  return { schema, batches: convert(rows, schema, conversions) };
}

interface Conversion {
  readonly place: number;
  readonly from: Field;
  /** The column of the frame. */
  readonly to: Field;
  /** `text`: the JSON text of each value is read as the other type. `nulls`: no value can be converted. */
  readonly how: 'text' | 'nulls';
}

/** True if an append would refuse the column, or take its texts only if all are null. */
function needsConversion(from: Field, to: Field): boolean {
  if (isSameType(to, from) || !isReadable(typeOf(to))) return false;
  return DataType.isUtf8(typeOf(from)) || !isConvertible(typeOf(from), typeOf(to));
}

function conversionOf(from: Field, to: Field): Conversion['how'] {
  const [source, target] = [typeOf(from), typeOf(to)];
  // Base64, which JSON has for bytes, is no SQL.
  const isBytes = DataType.isBinary(target) || (DataType.isFixedSizeBinary(target) && columnInfo(to).type !== 'UUID');
  if (DataType.isUtf8(source)) return isBytes ? 'nulls' : 'text';
  if (isNumber(source) && isNumber(target)) return 'text';
  // Not a timestamp with a zone: the other one would depend on the zone of the session.
  if (isDay(source) && isDay(target)) return 'text';
  return DataType.isTime(source) && DataType.isTime(target) ? 'text' : 'nulls';
}

function isNumber(type: DataType): boolean {
  return DataType.isInt(type) || DataType.isFloat(type) || DataType.isDecimal(type);
}

function isDay(type: DataType): boolean {
  return DataType.isDate(type) || (DataType.isTimestamp(type) && !type.timezone);
}

async function* convert(
  rows: FrameStream,
  schema: Schema,
  conversions: readonly Conversion[],
): AsyncGenerator<RecordBatch, void, undefined> {
  const taken: RecordBatch[] = [];
  const texts = encodeNdjson({
    schema: new Schema(conversions.map(({ from }) => from)),
    batches: takeColumns(rows, conversions, taken),
  });
  const decoded = await decodeRowsHere(new Schema(conversions.map(({ to }) => to)), texts);
  const places = new Map(conversions.map(({ place }, i) => [place, i]));
  /** The rows of the first batch that were passed on. */
  let passed = 0;
  for await (const part of decoded.batches) {
    for (let at = 0; at < part.numRows;) {
      const [first] = taken;
      if (first === undefined) throw new Error('A converted row has no other columns.');
      const count = Math.min(part.numRows - at, first.numRows - passed);
      const columns = schema.fields.map((_, place) => {
        const i = places.get(place);
        return i === undefined ? rowsOf(first, place, passed, count) : rowsOf(part, i, at, count);
      });
      yield createRecordBatch(schema, count, columns);
      at += count;
      passed += count;
      if (passed < first.numRows) continue;
      taken.shift();
      passed = 0;
    }
  }
}

function rowsOf(batch: RecordBatch, column: number, start: number, count: number): Data {
  const data = batch.data.children[column];
  if (data === undefined) throw new Error('A batch has too few columns.');
  return sliceData(data, start, count);
}

/** Passes on the columns to convert, and adds the whole batches to `taken`. */
async function* takeColumns(
  { batches }: FrameStream,
  conversions: readonly Conversion[],
  taken: RecordBatch[],
): AsyncGenerator<RecordBatch, void, undefined> {
  const schema = new Schema(conversions.map(({ from }) => from));
  let firstRow = 0;
  for await (const batch of batches) {
    if (batch.numRows === 0) continue;
    taken.push(batch);
    const columns = conversions.map((conversion) => {
      const column = rowsOf(batch, conversion.place, 0, batch.numRows);
      checkValues(column, conversion, firstRow);
      return column;
    });
    firstRow += batch.numRows;
    yield createRecordBatch(schema, batch.numRows, columns);
  }
}

/** Throws for a value JSON would write as null, or that cannot be converted at all. */
function checkValues(column: Data, { from, to, how }: Conversion, firstRow: number): void {
  const type = typeOf(from);
  const values: unknown = column.values;
  const isFloats = DataType.isFloat(type);
  if (!isFloats && how === 'text') return;
  for (let row = 0; row < column.length; row++) {
    if (!column.getValid(row)) continue;
    const value: unknown = isFloats && isNumbers(values) ? values[row] : undefined;
    if (how === 'text' && Number.isFinite(value)) continue;
    const what = how === 'text' ? `${String(value)} is not exactly` : `a value of the type ${nameOf(from)} is not`;
    throw new ServiceError(
      'invalid_data',
      `Row ${firstRow + row + 1}, column ${quoted(to.name)}: ${what} a value of the type ${nameOf(to)}.`,
      { hint: `Cast the value in the SQL to a type that becomes ${nameOf(to)}.` },
    );
  }
}

function isNumbers(values: unknown): values is Float32Array | Float64Array {
  return values instanceof Float64Array || values instanceof Float32Array;
}

function nameOf(field: Field): string {
  return columnInfo(field).type;
}

/**
 * Converts integers that are inserted into columns of booleans: SQLAlchemy binds 1 and 0. Any other number is
 * `invalid_data`.
 */
function integersAsBooleans(frame: Schema, rows: FrameStream): FrameStream {
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

/**
 * Converts decimals that are inserted into columns of other numbers: `1.5` is a decimal in SQL. A floating-point column gets
 * the nearest double; a decimal that is not a whole number does not fit in an integer column: `invalid_data`.
 */
function decimalsAsNumbers(frame: Schema, rows: FrameStream): FrameStream {
  const wanted = new Map(frame.fields.map((field) => [field.name, field]));
  return convertColumns(rows, (from) => numberFor(from, wanted.get(from.name)), numbersOf);
}

/** Returns the column a decimal column becomes; undefined if it stays as it is. */
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

/** Converts a column of a batch, whose first row has this place in the stream. */
type ConvertColumn<To extends Field> = (column: Data, target: To, firstRow: number) => Data;

/** Converts the columns that have a target, and passes on the others. */
function convertColumns<To extends Field>(
  rows: FrameStream,
  targetOf: (from: Field) => To | undefined,
  convertColumn: ConvertColumn<To>,
): FrameStream {
  const { fields, metadata } = rows.schema;
  const targets = fields.map(targetOf);
  if (targets.every((target) => target === undefined)) return rows;
  const schema = new Schema(
    fields.map((field, i) => targets[i] ?? field),
    metadata,
  );
  async function* batches(): AsyncGenerator<RecordBatch, void, undefined> {
    let firstRow = 0;
    for await (const batch of rows.batches) {
      const columns: readonly Data[] = batch.data.children;
      const converted = columns.map((column, i) => {
        const target = targets[i];
        return target === undefined ? column : convertColumn(sliceData(column, 0, batch.numRows), target, firstRow);
      });
      firstRow += batch.numRows;
      yield createRecordBatch(schema, batch.numRows, converted);
    }
  }
  return { schema, batches: batches() };
}
