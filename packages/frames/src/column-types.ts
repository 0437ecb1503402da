import { EXTENSION_METADATA_KEY, TYPE_METADATA_KEY, typeName, UUID_EXTENSION } from '@svc/arrow';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import {
  Bool,
  DataType,
  DateDay,
  Decimal,
  Field,
  FixedSizeBinary,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  type Schema,
  TimeMicrosecond,
  TimestampMicrosecond,
  TimestampNanosecond,
  Uint64,
  Utf8,
} from 'apache-arrow';

// apache-arrow declares the type of a field, and the value type of a dictionary, as `any`. These functions return them
// with their types.

/** Returns the type of a field. */
export function typeOf({ type }: { readonly type: DataType }): DataType {
  return type;
}

/** Returns the fields inside a field. */
export function childrenOf({ type }: { readonly type: DataType }): readonly Field[] {
  // Types that are not nested have null.
  return type.children ?? [];
}

/** Returns the fields of the keys and of the values of a map. */
export function keyAndValueOf(map: { readonly type: DataType }): readonly [key: Field, value: Field] {
  const [key, value] = childrenOf(map).flatMap(childrenOf);
  if (key === undefined || value === undefined) throw new TypeError('The field is not a map.');
  return [key, value];
}

/** Returns the type of the values of a dictionary. */
export function valueTypeOf({ dictionary }: { readonly dictionary: DataType }): DataType {
  return dictionary;
}

/** True if the values of a field, or some inside them, are in a dictionary. */
export function hasDictionary(field: { readonly type: DataType }): boolean {
  return DataType.isDictionary(typeOf(field)) || childrenOf(field).some(hasDictionary);
}

/** One row of `COLUMN_TYPES`. */
export interface ColumnTypeRow {
  /** The Arrow types that have this name, for the documentation. */
  readonly arrow: string;
  /** The JSON form of a value, for the documentation. */
  readonly json: string;
}

/** The type names clients see. */
export const COLUMN_TYPES = {
  BOOLEAN: { arrow: 'bool', json: '`true`, `false`' },
  BYTE: { arrow: 'int8', json: 'exact digits' },
  SHORT: { arrow: 'int16, uint8', json: 'exact digits' },
  INT: { arrow: 'int32, uint16', json: 'exact digits' },
  LONG: { arrow: 'int64, uint32', json: 'exact digits, also past 2^53; a string with `quoteLargeNum=true`' },
  ULONG: { arrow: 'uint64', json: 'exact digits, also past 2^53; a string with `quoteLargeNum=true`' },
  LONG128: {
    arrow: 'decimal of scale 0 with the field metadata `svc:type` = `LONG128`',
    json: 'exact digits; a string with `quoteLargeNum=true`',
  },
  FLOAT: {
    arrow: 'float16, float32',
    json: 'the shortest digits that read back as the same 32-bit float; NaN and ±Infinity are `null`',
  },
  DOUBLE: { arrow: 'float64', json: 'the shortest digits that read back the same; NaN and ±Infinity are `null`' },
  'DECIMAL(p,s)': { arrow: 'decimal of 32, 64, 128 or 256 bits', json: 'a string that keeps the scale, `"1.10"`' },
  STRING: {
    arrow: 'utf8, large utf8, utf8 view, null',
    json: 'a string; bytes that are not UTF-8 become U+FFFD',
  },
  SYMBOL: {
    arrow: 'dictionary of a string type; a string type with the field metadata `svc:type` = `SYMBOL`',
    json: 'a string',
  },
  DATE: { arrow: 'date32, date64', json: '`"2024-01-02T00:00:00.000Z"`' },
  TIMESTAMP: {
    arrow: 'timestamp in s, ms or µs, with or without a zone',
    json: '`"2024-01-02T03:04:05.678901Z"`, always six digits, UTC',
  },
  TIMESTAMP_NS: { arrow: 'timestamp in ns', json: '`"2024-01-02T03:04:05.678901234Z"`, always nine digits, UTC' },
  TIME: { arrow: 'time32, time64', json: '`"03:04:05.678901"`, six digits, nine for nanoseconds' },
  DURATION: { arrow: 'duration', json: 'an ISO 8601 duration, `"PT1H2M3.5S"`; below zero `"PT-1H-2M-3.5S"`' },
  INTERVAL: {
    arrow: 'interval of months, of days and milliseconds, or of months, days and nanoseconds',
    json: 'an ISO 8601 duration, `"P1Y2M3DT4H5M6.5S"`; every part has its own sign',
  },
  BINARY: { arrow: 'binary, large binary, binary view, fixed-size binary', json: 'base64' },
  UUID: { arrow: 'the extension type `arrow.uuid`', json: '`"01234567-89ab-cdef-0123-456789abcdef"`' },
  ARRAY: { arrow: 'list, large list, fixed-size list', json: 'an array' },
  STRUCT: { arrow: 'struct', json: 'an object' },
  MAP: { arrow: 'map', json: 'an array of `[key,value]`' },
} as const satisfies Record<string, ColumnTypeRow>;

/** The name of a column's type. */
export type ColumnTypeName = Exclude<keyof typeof COLUMN_TYPES, 'DECIMAL(p,s)'> | `DECIMAL(${number},${number})`;

/** A column, as clients see it. */
export interface ColumnInfo {
  readonly name: string;
  readonly type: ColumnTypeName;
  readonly nullable: boolean;
}

/** Returns the type name of an Arrow field; undefined if the server does not support the type. */
export function columnTypeName(field: Field): ColumnTypeName | undefined {
  return typeName({ type: typeOf(field), metadata: field.metadata });
}

/** Every response about a frame repeats the column names. */
const MAX_NAME_LENGTH = 1024;

/** Describes a column of a schema for clients. Throws `invalid_data` if the server does not support it. */
export function columnInfo(field: Field): ColumnInfo {
  if (field.name.length > MAX_NAME_LENGTH) {
    throw new ServiceError(
      'invalid_data',
      `The column name ${quoted(field.name)} is longer than ${MAX_NAME_LENGTH} characters.`,
      {
        hint: 'Give the column a shorter name.',
      },
    );
  }
  const type = columnTypeName(field);
  if (type === undefined) {
    throw new ServiceError(
      'invalid_data',
      `Column ${quoted(field.name)} has the Arrow type ${field.type}, which this server does not support.`,
      {
        hint: `Cast the column to one of: ${Object.values(COLUMN_TYPES)
          .map((row) => row.arrow)
          .join(', ')}.`,
      },
    );
  }
  return { name: field.name, type, nullable: field.nullable };
}

/** The most bytes of names and metadata: log entries, lists and descriptions have them, each written in one piece. */
const MAX_TEXT_BYTES = 1 << 20;

/** Throws `invalid_data` if the server does not support a column of a new frame, or their names are too long together. */
export function checkSchema({ fields, metadata }: Schema): void {
  fields.forEach(columnInfo);
  checkTextBytes(metadataBytes(metadata) + textBytesOf(fields));
}

/** Throws `invalid_data` if the names of all columns, also nested ones, are too long together. */
export function checkNames(names: readonly string[]): void {
  checkTextBytes(names.reduce((bytes, name) => bytes + Buffer.byteLength(name), 0));
}

/** Throws `invalid_data` if the names and metadata of all columns are too long together. */
export function checkTextBytes(bytes: number): void {
  if (bytes <= MAX_TEXT_BYTES) return;
  throw new ServiceError(
    'invalid_data',
    `The names and metadata of the columns take ${bytes} bytes; at most ${MAX_TEXT_BYTES} are allowed.`,
    { hint: 'Shorten the names, leave out metadata, or split the frame.' },
  );
}

function textBytesOf(fields: readonly Field[]): number {
  return fields.reduce((bytes, field) => {
    const type = typeOf(field);
    const zone = DataType.isTimestamp(type) ? (type.timezone ?? '') : '';
    return (
      bytes + Buffer.byteLength(field.name + zone) + metadataBytes(field.metadata) + textBytesOf(childrenOf(field))
    );
  }, 0);
}

function metadataBytes(metadata: ReadonlyMap<string, string>): number {
  return [...metadata].reduce((bytes, [key, value]) => bytes + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
}

/** A column as a client declares it. */
export interface DeclaredColumn {
  readonly name: string;
  /** A type name, in any letter case (`LONG`, `decimal(18,4)`). Default: the type that fits all values. */
  readonly type?: string;
}

interface DeclaredType {
  readonly type: () => DataType;
  readonly metadata?: readonly (readonly [string, string])[];
}

/** The types of columns of a text format a client can declare, and the Arrow types of their values. */
const DECLARED_TYPES: Readonly<Record<string, DeclaredType>> = {
  BOOLEAN: { type: () => new Bool() },
  BYTE: { type: () => new Int8() },
  SHORT: { type: () => new Int16() },
  INT: { type: () => new Int32() },
  LONG: { type: () => new Int64() },
  ULONG: { type: () => new Uint64() },
  LONG128: { type: () => new Decimal(0, 38, 128), metadata: [[TYPE_METADATA_KEY, 'LONG128']] },
  FLOAT: { type: () => new Float32() },
  DOUBLE: { type: () => new Float64() },
  STRING: { type: () => new Utf8() },
  SYMBOL: { type: () => new Utf8(), metadata: [[TYPE_METADATA_KEY, 'SYMBOL']] },
  DATE: { type: () => new DateDay() },
  TIMESTAMP: { type: () => new TimestampMicrosecond() },
  TIMESTAMP_NS: { type: () => new TimestampNanosecond() },
  TIME: { type: () => new TimeMicrosecond() },
  UUID: { type: () => new FixedSizeBinary(16), metadata: [[EXTENSION_METADATA_KEY, UUID_EXTENSION]] },
};

const MAX_PRECISION = 38;

/** Returns the field of a column that is declared with a type. A type that cannot be declared is `invalid_argument`. */
export function declaredField(name: string, type: string): Field {
  const known = DECLARED_TYPES[type.toUpperCase()];
  if (known !== undefined) return new Field(name, known.type(), true, new Map(known.metadata));
  const [, precision, scale] = /^DECIMAL\((\d{1,2}), ?(\d{1,2})\)$/i.exec(type)?.map(Number) ?? [];
  const isDecimal = precision !== undefined && scale !== undefined && precision >= 1 && precision <= MAX_PRECISION;
  if (isDecimal && scale <= precision) return new Field(name, new Decimal(scale, precision, 128), true);
  throw new ServiceError('invalid_argument', `Column ${quoted(name)} cannot be declared as ${quoted(type)}.`, {
    hint: `Use one of: ${Object.keys(DECLARED_TYPES).join(', ')}, DECIMAL(p,s).`,
  });
}
