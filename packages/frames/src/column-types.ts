import { quoted, ServiceError } from '@svc/errors';
import { DataType, type Field, Precision, TimeUnit, Type } from 'apache-arrow';

/** One row of `COLUMN_TYPES`. */
export interface ColumnTypeRow {
  /** The Arrow types that have this name, for the documentation. */
  readonly arrow: string;
  /** How a value looks in JSON, for the documentation. */
  readonly json: string;
}

/** The type names clients see, and what stands behind each. */
export const COLUMN_TYPES = {
  BOOLEAN: { arrow: 'bool', json: '`true`, `false`' },
  BYTE: { arrow: 'int8', json: 'exact digits' },
  SHORT: { arrow: 'int16, uint8', json: 'exact digits' },
  INT: { arrow: 'int32, uint16', json: 'exact digits' },
  LONG: { arrow: 'int64, uint32', json: 'exact digits, also past 2^53; a string with `quoteLargeNum=true`' },
  ULONG: { arrow: 'uint64', json: 'exact digits, also past 2^53; a string with `quoteLargeNum=true`' },
  FLOAT: {
    arrow: 'float16, float32',
    json: 'the shortest digits that read back as the same 32-bit float; NaN and ±Infinity are `null`',
  },
  DOUBLE: { arrow: 'float64', json: 'the shortest digits that read back the same; NaN and ±Infinity are `null`' },
  STRING: {
    arrow: 'utf8, large utf8, utf8 view, null',
    json: 'a string; bytes that are not UTF-8 become U+FFFD',
  },
  SYMBOL: { arrow: 'dictionary of a string type', json: 'a string' },
  DATE: { arrow: 'date32, date64', json: '`"2024-01-02T00:00:00.000Z"`' },
  TIMESTAMP: {
    arrow: 'timestamp in s, ms or µs, with or without a zone',
    json: '`"2024-01-02T03:04:05.678901Z"`, always six digits, UTC',
  },
  TIMESTAMP_NS: { arrow: 'timestamp in ns', json: '`"2024-01-02T03:04:05.678901234Z"`, always nine digits, UTC' },
  ARRAY: { arrow: 'list, large list, fixed-size list', json: 'an array' },
  STRUCT: { arrow: 'struct', json: 'an object' },
} as const satisfies Record<string, ColumnTypeRow>;

/** The name of a column's type. */
export type ColumnTypeName = keyof typeof COLUMN_TYPES;

/** A column as clients see it. */
export interface ColumnInfo {
  readonly name: string;
  readonly type: ColumnTypeName;
  readonly nullable: boolean;
}

/** The type name of an Arrow type; undefined where the server does not hold columns of that type. */
export function columnTypeName(type: DataType): ColumnTypeName | undefined {
  if (DataType.isDictionary(type)) return columnTypeName(type.dictionary) === 'STRING' ? 'SYMBOL' : undefined;
  if (DataType.isInt(type)) return INTEGER_NAMES[`${type.isSigned ? 'int' : 'uint'}${type.bitWidth}`];
  if (DataType.isFloat(type)) return type.precision === Precision.DOUBLE ? 'DOUBLE' : 'FLOAT';
  if (DataType.isTimestamp(type)) return type.unit === TimeUnit.NANOSECOND ? 'TIMESTAMP_NS' : 'TIMESTAMP';
  if (DataType.isStruct(type)) return type.children.every((child) => columnTypeName(child.type)) ? 'STRUCT' : undefined;
  if (DataType.isList(type) || DataType.isFixedSizeList(type) || DataType.isLargeList(type)) {
    return columnTypeName(type.valueType) && 'ARRAY';
  }
  return PLAIN_NAMES[type.typeId];
}

/** Longer names are refused: every answer about a frame repeats them. */
const MAX_NAME_LENGTH = 1024;

/** A column of a schema as clients see it. */
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
  const type = columnTypeName(field.type);
  if (type === undefined) {
    throw new ServiceError(
      'invalid_data',
      `Column ${quoted(field.name)} has the Arrow type ${field.type}, which this server does not hold.`,
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
};
