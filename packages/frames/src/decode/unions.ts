import { TYPE_METADATA_KEY } from '@svc/arrow';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import {
  Binary,
  Data,
  DataType,
  DateDay,
  DateUnit,
  Decimal,
  Field,
  Float,
  Int,
  Precision,
  Schema,
  Struct,
  Time,
  Timestamp,
  TimeUnit,
  type Union,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { childrenOf, columnInfo, columnTypeName, hasDictionary, typeOf, valueTypeOf } from '../column-types.ts';
import {
  type ColumnData,
  elementsPerRow,
  integerAt,
  isNullAt,
  setBit,
  type Values,
  nanosecondsOf,
} from '../columns/column-data.ts';
import { joinColumns, nullColumn } from '../columns/join-columns.ts';
import { isSameType } from '../columns/match-columns.ts';
import {
  arrayTypeOf,
  chunksOf,
  createFrameBytes,
  createRecordBatch,
  dataFrom,
  valuesOf,
} from '../columns/record-batch.ts';
import { type FrameStream, streamOfBatches } from '../streams.ts';
import { allocate } from './limits.ts';

/** Type ids have 7 bits. */
const MAX_TYPE_ID = 127;

/**
 * Returns the schema in which a decoder passes on unions: each is a struct with a field for each of its types, named by its
 * index. Of these, a row has a value in one, or in none if it is null.
 */
export function unionsAsStructs(schema: Schema): Schema {
  if (!schema.fields.some(isUnion)) return schema;
  return new Schema(schema.fields.map(unionAsStruct), schema.metadata, schema.dictionaries);
}

/** Returns the struct of a union; other fields stay as they are. */
export function unionAsStruct(field: Field): Field {
  if (!isUnion(field)) return field;
  const members = childrenOf(field).map((child, i) => child.clone({ name: `${i}`, nullable: true }));
  return new Field(field.name, new Struct(members), true, field.metadata);
}

/** True if a field is a union. */
export function isUnion(field: Field): field is Field<Union> {
  return DataType.isUnion(typeOf(field));
}

/** Returns the index of the child of each type id. By default, the ids are these indices. */
export function childrenByTypeId({ name, type }: Field<Union>): ReadonlyMap<number, number> {
  const ids = type.typeIds.length === 0 ? childrenOf({ type }).map((_, i) => i) : [...type.typeIds];
  const children = new Map(ids.map((id, i) => [id, i]));
  const isValid = children.size === ids.length && ids.every((id) => id >= 0 && id <= MAX_TYPE_ID);
  if (isValid && ids.length === childrenOf({ type }).length) return children;
  throw new ServiceError(
    'invalid_data',
    `Column ${quoted(name)} has a malformed Arrow type: its union has the type ids ${ids.join(', ')}.`,
    {
      hint: `Give each type of the union an id of its own, from 0 to ${MAX_TYPE_ID}.`,
    },
  );
}

/** The most bytes of rows with unions: they wait in memory, because the last row may determine the type of a column. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The parts of a column in a batch: the types of a union that have a value there, by their index, or the whole column. */
type Parts = ReadonlyMap<number, Data>;

interface Kept {
  readonly rows: number;
  readonly columns: readonly Parts[];
}

/**
 * Replaces the structs of `unionsAsStructs` by columns of one type, once all rows are there. `sent` is the schema with the
 * unions; without any, the rows are passed on as they are.
 */
export async function resolveUnions(sent: Schema, rows: FrameStream): Promise<FrameStream> {
  const { fields, metadata } = sent;
  if (!fields.some(isUnion)) return rows;
  const kept: Kept[] = [];
  const counter = createFrameBytes();
  let bytes = 0;
  for await (const batch of rows.batches) {
    const all: readonly Data[] = batch.data.children;
    const columns = all.map((column, i) => (isUnion(fields[i]) ? partsWithValues(column) : new Map([[0, column]])));
    const parts = columns.flatMap((column) => [...column.values()]);
    bytes += counter.add(createRecordBatch(NO_COLUMNS, batch.numRows, parts));
    if (bytes > MAX_BYTES) throw tooLarge();
    kept.push({ rows: batch.numRows, columns });
  }
  const resolved = fields.map((field, i) => (isUnion(field) ? resolvedField(field, i, kept) : field));
  const firstRows = kept.map((_, i) => kept.slice(0, i).reduce((sum, batch) => sum + batch.rows, 0));
  const schema = new Schema(resolved, metadata);
  const batches = kept.map((batch, i) => {
    const columns = batch.columns.map((parts, at) =>
      columnOf(fields[at], resolved[at], parts, batch.rows, firstRows[i]),
    );
    return createRecordBatch(schema, batch.rows, columns);
  });
  return streamOfBatches(schema, batches);
}

const NO_COLUMNS = new Schema([]);

function partsWithValues({ children }: { readonly children: readonly Data[] }): Parts {
  return new Map([...children.entries()].filter(([, child]) => child.nullCount < child.length));
}

/** Returns the column the values of a union fit in. */
function resolvedField(union: Field, place: number, kept: readonly Kept[]): Field {
  const used = new Set(kept.flatMap(({ columns }) => [...(columns[place]?.keys() ?? [])]));
  const types = childrenOf(union).filter((_, i) => used.has(i));
  const { name, metadata } = union;
  // As text: a text column with only nulls converts to any type.
  if (types.length === 0) return new Field(name, new Utf8(), true, metadata);
  const common = types.length === 1 ? types[0] : commonField(types);
  if (common !== undefined) return common.clone({ name, nullable: true });
  const names = types.map((type) => columnInfo(type).type);
  throw new ServiceError(
    'invalid_data',
    `The union ${quoted(name)} has values of several types (${names.join(', ')}), and no type holds all of them unchanged.`,
    { hint: HINT },
  );
}

const HINT = 'Bind values of one type, or run the statement once for the values of each type.';

/** Returns a column of a batch, of the type that was found for it. */
function columnOf(sent: Field, to: Field, parts: Parts, rows: number, firstRow: number): Data {
  const type = typeOf(to);
  const [only] = parts.values();
  if (only === undefined) return dataFrom(type, nullColumn(type, rows, allocate), new Map());
  if (!isUnion(sent)) return only;
  const refuse = (row: number, value: number | bigint): ServiceError =>
    new ServiceError(
      'invalid_data',
      `Row ${firstRow + row + 1} of the union ${quoted(to.name)}: ${value} is not exactly a ${columnInfo(to).type}, the type of all its values together.`,
      { hint: HINT },
    );
  const children = childrenOf(sent);
  const isDirect = children.some((child, i) => typeOf(child) === type && parts.has(i));
  if (parts.size === 1 && isDirect) return only;
  const converted = [...parts].map(([i, part]) => convertExactly(part, children[i], to, refuse));
  return converted.length === 1 ? converted[0] : firstValues(type, converted);
}

function tooLarge(): ServiceError {
  return new ServiceError('payload_too_large', `The rows with unions take more than ${MAX_BYTES} bytes.`, {
    hint: 'Send fewer rows at a time, or bind columns of one type.',
  });
}

/** The most digits of a decimal in SQL. */
const MAX_DIGITS = 38;

/**
 * Returns the field for values of several fields: that of the type which `UNION ALL` has in DuckDB. Undefined if that type
 * changes values, as an integer among texts, or a decimal among floating-point numbers.
 */
function commonField(fields: readonly Field[]): Field | undefined {
  const [first] = fields;
  if (first === undefined) return undefined;
  if (fields.every((field) => !hasDictionary(field) && isIdentical(first, field))) return first;
  const types = fields.map(plainType);
  const type = commonType(types);
  if (type === undefined || fields.some((field) => columnTypeName(field) === 'UUID')) return undefined;
  const isLong128 = DataType.isDecimal(type) && !types.some((other) => DataType.isDecimal(other) && other.scale > 0);
  return new Field('', type, true, isLong128 && type.precision === MAX_DIGITS ? LONG128 : new Map<string, string>());
}

const LONG128 = new Map([[TYPE_METADATA_KEY, 'LONG128']]);

/** True if the values of two fields have the same buffers and the same meaning. */
function isIdentical(a: Field, b: Field): boolean {
  return typeOf(a).typeId === typeOf(b).typeId && isSameType(a, b) && isSameType(b, a);
}

/** Returns the type of the values, also of those in a dictionary. */
function plainType(field: Field): DataType {
  const type = typeOf(field);
  return DataType.isDictionary(type) ? valueTypeOf(type) : type;
}

function commonType(types: readonly DataType[]): DataType | undefined {
  if (types.every(isText)) return new Utf8();
  if (types.every(isBytes)) return new Binary();
  if (types.every((type) => DataType.isDate(type))) return new DateDay();
  if (types.every((type) => DataType.isTime(type))) return finestTime(types.map(({ unit }) => unit));
  if (types.every(isDay)) return finestTimestamp(types);
  if (types.every((type) => DataType.isTimestamp(type))) return finestTimestamp(types);
  if (types.every((type) => DataType.isInt(type))) return commonInteger(types);
  if (types.every((type) => DataType.isInt(type) || DataType.isFloat(type))) return commonFloat(types);
  return types.every((type) => DataType.isInt(type) || DataType.isDecimal(type)) ? commonDecimal(types) : undefined;
}

function isText(type: DataType): boolean {
  return DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type);
}

function isBytes(type: DataType): boolean {
  const isVariable = DataType.isBinary(type) || DataType.isLargeBinary(type) || DataType.isBinaryView(type);
  return isVariable || DataType.isFixedSizeBinary(type);
}

/** A timestamp without a zone is a local time, as a date is. */
function isDay(type: DataType): boolean {
  return DataType.isDate(type) || (DataType.isTimestamp(type) && !type.timezone);
}

const FINE_UNITS = [TimeUnit.NANOSECOND, TimeUnit.MICROSECOND, TimeUnit.MILLISECOND];

function finest(units: readonly TimeUnit[]): TimeUnit {
  return FINE_UNITS.find((unit) => units.includes(unit)) ?? TimeUnit.SECOND;
}

function finestTime(units: readonly TimeUnit[]): Time {
  const unit = finest(units);
  return new Time(unit, unit === TimeUnit.MICROSECOND || unit === TimeUnit.NANOSECOND ? 64 : 32);
}

/** Undefined if only some of the timestamps have a zone: SQL would use that of the session. */
function finestTimestamp(types: readonly DataType[]): Timestamp | undefined {
  const stamps = types.filter((type) => DataType.isTimestamp(type));
  const zones = new Set(stamps.map(({ timezone }) => Boolean(timezone)));
  return zones.size === 1 ? new Timestamp(finest(stamps.map(({ unit }) => unit)), stamps[0]?.timezone) : undefined;
}

function commonInteger(types: readonly Int[]): DataType {
  const isSigned = types.some((type) => type.isSigned);
  // A signed type for unsigned values has twice their bits.
  const bits = Math.max(...types.map((type) => (type.isSigned === isSigned ? type.bitWidth : 2 * type.bitWidth)));
  if (bits === 8 || bits === 16 || bits === 32 || bits === 64) return new Int(isSigned, bits);
  return new Decimal(0, MAX_DIGITS, 128);
}

function commonFloat(types: readonly (Float | Int)[]): Float {
  const precisions = types.flatMap((type) => (DataType.isFloat(type) ? type.precision : []));
  return new Float(precisions.includes(Precision.DOUBLE) ? Precision.DOUBLE : Precision.SINGLE);
}

function commonDecimal(types: readonly (Decimal | Int)[]): Decimal | undefined {
  const scales = types.map((type) => (DataType.isDecimal(type) ? type.scale : 0));
  const scale = Math.max(...scales);
  const whole = Math.max(
    ...types.map((type) => (DataType.isDecimal(type) ? type.precision - type.scale : digitsOf(type))),
  );
  const isHeld = scale + whole <= MAX_DIGITS && Math.min(...scales) >= 0;
  return isHeld ? new Decimal(scale, scale + whole, 128) : undefined;
}

/** Returns the most digits of an integer. */
function digitsOf({ bitWidth, isSigned }: Int): number {
  const most = isSigned ? 2n ** BigInt(bitWidth - 1) : 2n ** BigInt(bitWidth) - 1n;
  return `${most}`.length;
}

/** Converts a column to the type `commonField` chose. `refuse` returns the error of a value that would change. */
function convertExactly(
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

const DAY = 86_400n * nanosecondsOf(TimeUnit.SECOND);

/** Returns the size of 1 in a type, relative to the types it has a common type with. */
function ticksOf(type: DataType): bigint {
  if (DataType.isTimestamp(type) || DataType.isTime(type)) return nanosecondsOf(type.unit);
  if (DataType.isDate(type)) return type.unit === DateUnit.DAY ? DAY : nanosecondsOf(TimeUnit.MILLISECOND);
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

/** Returns a column with the value of each row that is not null in one of several columns of a type, which have no dictionaries. */
function firstValues(type: DataType, columns: readonly Data[]): Data {
  const [first, ...others] = columns.map(bufferedColumn);
  const spans: { column: ColumnData; start: number; length: number }[] = [];
  for (let row = 0; row < first.length; row++) {
    const column = isNullAt(first, row) ? (others.find((other) => !isNullAt(other, row)) ?? first) : first;
    const last = spans.at(-1);
    if (last?.column === column) last.length++;
    else spans.push({ column, start: row, length: 1 });
  }
  const joined = joinColumns(type, spans, {
    allocate,
    tooLarge: (what) => new ServiceError('invalid_data', `The values of a union are too large: ${what}.`),
  });
  return dataFrom(type, joined, new Map());
}

/** Returns the buffers of a column. */
function bufferedColumn(data: BufferedData): ColumnData {
  const { length, nullCount, nullBitmap, valueOffsets, values, variadicBuffers, children } = data;
  return {
    length,
    nullCount,
    ...(nullCount > 0 && { validity: new Uint8Array(nullBitmap) }),
    ...(valueOffsets && { offsets: valueOffsets }),
    ...(values && { values }),
    parts: variadicBuffers.map((part) => new Uint8Array(part)),
    children: children.map(bufferedColumn),
  };
}

/** The buffers of a column, which apache-arrow declares as `any`. */
interface BufferedData {
  readonly length: number;
  readonly nullCount: number;
  readonly nullBitmap: Uint8Array;
  readonly valueOffsets: ColumnData['offsets'];
  readonly values: ColumnData['values'];
  readonly variadicBuffers: readonly Uint8Array[];
  readonly children: readonly BufferedData[];
}
