import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { DataType, Field, Precision, TimeUnit, Type } from 'apache-arrow';
import { childrenOf, typeOf } from './arrow-types.ts';

/** One row of `COLUMN_TYPES`. */
export interface ColumnTypeRow {
  /** The Arrow types that have this name, for the documentation. */
  readonly arrow: string;
  /** The JSON form of a value, for the documentation. */
  readonly json: string;
}

/** The type names that clients see. */
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

/** The key of field metadata for a type that Arrow does not have. */
export const TYPE_METADATA_KEY = 'svc:type';

/** The key of field metadata for an Arrow extension type. */
export const EXTENSION_METADATA_KEY = 'ARROW:extension:name';

/** The extension type for UUIDs: fixed-size binary of 16 bytes. */
export const UUID_EXTENSION = 'arrow.uuid';

/** Returns the type name of an Arrow field; undefined if the server does not support the type. */
export function columnTypeName(field: Field): ColumnTypeName | undefined {
  const { metadata } = field;
  const type = typeOf(field);
  if (DataType.isDictionary(type)) return dictionaryName(new Field('', type.dictionary, true, metadata));
  if (DataType.isDecimal(type)) {
    const isWhole = type.scale === 0 && metadata.get(TYPE_METADATA_KEY) === 'LONG128';
    return isWhole ? 'LONG128' : `DECIMAL(${type.precision},${type.scale})`;
  }
  if (DataType.isFixedSizeBinary(type)) {
    const isUuid = type.byteWidth === 16 && metadata.get(EXTENSION_METADATA_KEY) === UUID_EXTENSION;
    return isUuid ? 'UUID' : 'BINARY';
  }
  const nested = NESTED_NAMES[type.typeId];
  if (nested !== undefined) {
    return childrenOf(field).every((child) => columnTypeName(child) !== undefined) ? nested : undefined;
  }
  const name = plainName(type);
  return name === 'STRING' && metadata.get(TYPE_METADATA_KEY) === 'SYMBOL' ? 'SYMBOL' : name;
}

/** A dictionary has the type of its values, but a dictionary of strings is a `SYMBOL`. */
function dictionaryName(values: Field): ColumnTypeName | undefined {
  const type = typeOf(values);
  if (DataType.isDictionary(type) || type.typeId in NESTED_NAMES) return undefined;
  const name = columnTypeName(values);
  return name === 'STRING' ? 'SYMBOL' : name;
}

/** Returns the name of a type that needs no metadata. */
function plainName(type: DataType): ColumnTypeName | undefined {
  if (DataType.isInt(type)) return INTEGER_NAMES[`${type.isSigned ? 'int' : 'uint'}${type.bitWidth}`];
  if (DataType.isFloat(type)) return type.precision === Precision.DOUBLE ? 'DOUBLE' : 'FLOAT';
  if (DataType.isTimestamp(type)) return type.unit === TimeUnit.NANOSECOND ? 'TIMESTAMP_NS' : 'TIMESTAMP';
  return PLAIN_NAMES[type.typeId];
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

const INTEGER_NAMES: Readonly<Record<string, ColumnTypeName>> = {
  int8: 'BYTE',
  int16: 'SHORT',
  int32: 'INT',
  int64: 'LONG',
  uint8: 'SHORT',
  uint16: 'INT',
  uint32: 'LONG',
  uint64: 'ULONG',
};

const PLAIN_NAMES: Readonly<Partial<Record<Type, ColumnTypeName>>> = {
  [Type.Bool]: 'BOOLEAN',
  [Type.Utf8]: 'STRING',
  [Type.LargeUtf8]: 'STRING',
  [Type.Utf8View]: 'STRING',
  [Type.Null]: 'STRING',
  [Type.Date]: 'DATE',
  [Type.Time]: 'TIME',
  [Type.Duration]: 'DURATION',
  [Type.Interval]: 'INTERVAL',
  [Type.Binary]: 'BINARY',
  [Type.LargeBinary]: 'BINARY',
  [Type.BinaryView]: 'BINARY',
};

const NESTED_NAMES: Readonly<Partial<Record<Type, ColumnTypeName>>> = {
  [Type.List]: 'ARRAY',
  [Type.LargeList]: 'ARRAY',
  [Type.FixedSizeList]: 'ARRAY',
  [Type.Struct]: 'STRUCT',
  [Type.Map]: 'MAP',
};
