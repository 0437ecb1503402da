import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import {
  type Data,
  DataType,
  type Decimal,
  Field,
  makeData,
  Precision,
  type RecordBatch,
  Schema,
  TimeUnit,
  Type,
  Utf8,
  util,
  vectorFromArray,
} from 'apache-arrow';
import { childrenOf, columnInfo, columnTypeName, typeOf } from '../column-types.ts';
import type { FrameStream } from '../streams.ts';
import { nanosecondsOf } from './column-data.ts';
import { createRecordBatch } from './record-batch.ts';

/** Converts rows of one schema to another. */
export interface ColumnMatch {
  /** The schema of the combined rows. */
  readonly schema: Schema;
  /** True if the rows fit unchanged, except for nullability. */
  readonly isPlain: boolean;
  conform(batch: RecordBatch): RecordBatch;
}

/**
 * Matches the columns of rows to append with those of the frame, by name and in any order. An extra column, a missing
 * one, or one whose type cannot be converted is `invalid_data`.
 */
export function matchColumns(frame: Schema, added: Schema): ColumnMatch {
  const places = new Map(added.fields.map((field, place) => [field.name, place]));
  const known = new Set(frame.fields.map(({ name }) => name));
  const extra = added.fields.find(({ name }) => !known.has(name));
  if (extra) throw mismatch(frame, `The rows to append have a column ${quoted(extra.name)}, but the frame does not.`);
  const matches = frame.fields.map((field) => {
    const place = places.get(field.name);
    const from = place === undefined ? undefined : added.fields[place];
    if (place === undefined || from === undefined) {
      throw mismatch(frame, `The rows to append have no column ${quoted(field.name)}.`);
    }
    const isSame = isSameType(field, from);
    if (!isSame && !isConvertible(typeOf(from), typeOf(field))) {
      const [wants, has] = describeTypeDifference(field, from);
      throw mismatch(frame, `Column ${quoted(field.name)} is ${wants} in the frame, but ${has} in the rows to append.`);
    }
    return { field, from, place, isSame };
  });
  const fields = matches.map(({ field, from }) =>
    from.nullable && !field.nullable ? field.clone({ nullable: true }) : field,
  );
  const schema = new Schema(fields, frame.metadata);
  return {
    schema,
    isPlain: matches.every(
      ({ field, from, place, isSame }, at) => isSame && place === at && hasSameZones(typeOf(field), typeOf(from)),
    ),
    conform(batch) {
      const columns: readonly Data[] = batch.data.children;
      const children = matches.flatMap(({ field, place, isSame }) => {
        const column = columns[place];
        if (column === undefined) return [];
        return isSame ? column : convertColumn(column, field);
      });
      return createRecordBatch(schema, batch.numRows, children);
    },
  };
}

/** Returns a batch with a schema that differs only in nullability. */
export function underSchema(schema: Schema, batch: RecordBatch): RecordBatch {
  return createRecordBatch(schema, batch.numRows, batch.data.children);
}

/** True if timestamps have the same zones, which is required to concatenate files. */
function hasSameZones(a: DataType, b: DataType): boolean {
  if (DataType.isTimestamp(a) && DataType.isTimestamp(b)) return a.timezone === b.timezone;
  const children: readonly Field[] = a.children ?? [];
  const others: readonly Field[] = b.children ?? [];
  return children.every((child, at) => hasSameZones(typeOf(child), typeOf(others[at] ?? child)));
}

/** SYMBOL is stored as text, so the two are interchangeable. */
const TEXTS: ReadonlySet<string> = new Set(['STRING', 'SYMBOL']);

/** True if an append takes a column as it is. */
export function isSameType(field: Field, from: Field): boolean {
  if (!fits(typeOf(field), typeOf(from))) return false;
  const [wants, has] = [columnInfo(field).type, columnInfo(from).type];
  return wants === has || (TEXTS.has(wants) && TEXTS.has(has));
}

/** True if values of `from` are values of `type` unchanged. The name of a list's item field is not significant. */
function fits(type: DataType, from: DataType): boolean {
  const isFixed = DataType.isFixedSizeList(type) && DataType.isFixedSizeList(from) && type.listSize === from.listSize;
  const isList = isFixed || (DataType.isList(type) && DataType.isList(from));
  const isMap = DataType.isMap(type) && DataType.isMap(from) && type.keysSorted === from.keysSorted;
  if (!isList && !isMap && !(DataType.isStruct(type) && DataType.isStruct(from))) {
    return isSameLeaf(type, from) && hasSameDecimals(type, from);
  }
  const children: readonly Field[] = type.children;
  const others: readonly Field[] = from.children;
  return (
    children.length === others.length &&
    children.every((child, at) => {
      const other = others[at];
      const isNamed = isList || isMap || child.name === other?.name;
      return other && isNamed && (child.nullable || !other.nullable) && fits(typeOf(child), typeOf(other));
    })
  );
}

/**
 * apache-arrow treats a unit-specific class (`TimestampMicrosecond`) as a different type than the general class. A
 * timestamp is the same instant in any zone.
 */
function isSameLeaf(a: DataType, b: DataType): boolean {
  if (DataType.isTimestamp(a) && DataType.isTimestamp(b)) return a.unit === b.unit && !a.timezone === !b.timezone;
  if (DataType.isInt(a) && DataType.isInt(b)) return a.bitWidth === b.bitWidth && a.isSigned === b.isSigned;
  if (DataType.isFloat(a) && DataType.isFloat(b)) return a.precision === b.precision;
  if (DataType.isTime(a) && DataType.isTime(b)) return a.unit === b.unit && a.bitWidth === b.bitWidth;
  if (DataType.isDate(a) && DataType.isDate(b)) return a.unit === b.unit;
  if (DataType.isDuration(a) && DataType.isDuration(b)) return a.unit === b.unit;
  if (DataType.isInterval(a) && DataType.isInterval(b)) return a.unit === b.unit;
  return util.compareTypes(a, b);
}

/** apache-arrow treats all decimals as the same type, also inside nested types. */
function hasSameDecimals(a: DataType, b: DataType): boolean {
  if (DataType.isDecimal(a) && DataType.isDecimal(b)) return keptDecimal(a) === keptDecimal(b);
  const children: readonly Field[] = a.children ?? [];
  const others: readonly Field[] = b.children ?? [];
  return children.every((child, at) => hasSameDecimals(typeOf(child), typeOf(others[at] ?? child)));
}

/** Narrow decimals are stored with 128 bits. */
function keptDecimal({ precision, scale, bitWidth }: Decimal): string {
  return `${precision},${scale},${Math.max(bitWidth, 128)}`;
}

function mismatch(frame: Schema, message: string): ServiceError {
  const columns = frame.fields.slice(0, 20).map((field) => `${quoted(field.name)} ${columnInfo(field).type}`);
  const more = frame.fields.length > columns.length ? ', …' : '';
  return new ServiceError('invalid_data', message, {
    hint: `The columns of the frame are: ${columns.join(', ')}${more}.`,
  });
}

/** Describes two types that do not match, in just enough detail to show the difference. */
function describeTypeDifference(one: Field, other: Field): readonly [one: string, other: string] {
  const [name, otherName] = hasOneZone(one, other) ? [zonedName(one), zonedName(other)] : [nameOf(one), nameOf(other)];
  if (name !== otherName) return [name, otherName];
  return nestedDifference(name, one, other) ?? [`${name} (${arrowText(one)})`, `${name} (${arrowText(other)})`];
}

/** Describes the first difference between the children. */
function nestedDifference(name: string, one: Field, other: Field): readonly [string, string] | undefined {
  const [inside, others] = [childrenOf(one), childrenOf(other)];
  if (inside.length !== others.length) return [counted(name, inside), counted(name, others)];
  for (const [at, child] of inside.entries()) {
    const otherChild = others[at] ?? child;
    const [holds, otherHolds] = [holdsText(name, one, child), holdsText(name, other, otherChild)];
    if (holds !== otherHolds) return [holds, otherHolds];
    const [has, otherHas] = describeTypeDifference(child, otherChild);
    if (has !== otherHas) return [`${holds} ${has}`, `${holds} ${otherHas}`];
  }
  return undefined;
}

/** The name of a list's item field is not significant. */
function holdsText(name: string, { type }: Field, child: Field): string {
  return DataType.isStruct(type) ? `${name} with ${quoted(child.name)}` : `${name} of`;
}

function counted(name: string, { length }: readonly Field[]): string {
  return `${name} of ${length} ${length === 1 ? 'field' : 'fields'}`;
}

/** True if one of two timestamps has a zone and the other has none. */
function hasOneZone({ type: one }: Field, { type: other }: Field): boolean {
  return DataType.isTimestamp(one) && DataType.isTimestamp(other) && !one.timezone !== !other.timezone;
}

function zonedName(field: Field): string {
  const zone = DataType.isTimestamp(field.type) ? field.type.timezone : null;
  return `${nameOf(field)} ${zone ? `with the zone ${zone}` : 'without a zone'}`;
}

function nameOf(field: Field): string {
  return columnTypeName(field) ?? kindOf(field);
}

/** Returns the Arrow type, which is more specific than the column type. */
function arrowText(field: Field): string {
  const text = childrenOf(field).length > 0 ? kindOf(field) : leafText(field);
  return field.nullable ? text : `${text} not null`;
}

function kindOf(field: Field): string {
  return Type[typeOf(field).typeId];
}

function leafText({ type }: Field): string {
  return DataType.isDecimal(type) ? `Decimal${type.bitWidth}` : `${type}`;
}

/** True if values of one type can become values of another, provided that each converts exactly. */
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

const UNIT_NAMES: Readonly<Record<TimeUnit, string>> = {
  [TimeUnit.SECOND]: 's',
  [TimeUnit.MILLISECOND]: 'ms',
  [TimeUnit.MICROSECOND]: 'µs',
  [TimeUnit.NANOSECOND]: 'ns',
};

/** Converts values between units. Returns undefined for a value that is not a whole number of the new unit. */
function unitScale(from: TimeUnit, to: TimeUnit): (value: bigint) => bigint | undefined {
  const [old, next] = [nanosecondsOf(from), nanosecondsOf(to)];
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
  return DataType.isTimestamp(type) ? `${text} ${UNIT_NAMES[type.unit]}` : text;
}

function notExact(to: Field, shown: string): ServiceError {
  return new ServiceError(
    'invalid_data',
    `The value ${shown} of column ${quoted(to.name)} in the rows to append does not fit: the frame's column is ${columnInfo(to).type}.`,
    { hint: 'Replace the frame, with a wider type for this column.' },
  );
}

/** Adds a column of nulls for each nullable column of the frame the rows do not have. */
export function withMissingColumns(frame: Schema, rows: FrameStream): FrameStream {
  const known = new Set(rows.schema.fields.map(({ name }) => name));
  // As text: a text column with only nulls converts to any type.
  const missing = frame.fields.flatMap(({ name, nullable }) =>
    nullable && !known.has(name) ? [new Field(name, new Utf8(), true)] : [],
  );
  if (missing.length === 0) return rows;
  const schema = new Schema([...rows.schema.fields, ...missing], rows.schema.metadata);
  async function* batches(): AsyncGenerator<RecordBatch> {
    for await (const batch of rows.batches) {
      const children = [...batch.data.children, ...missing.map(() => nullTexts(batch.numRows))];
      yield createRecordBatch(schema, batch.numRows, children);
    }
  }
  return { schema, batches: batches() };
}

function nullTexts(length: number): Data {
  return makeData({
    type: new Utf8(),
    length,
    nullCount: length,
    nullBitmap: new Uint8Array(Math.ceil(length / 8)),
    valueOffsets: new Int32Array(length + 1),
    data: new Uint8Array(0),
  });
}
