import { columnTypeName, type FrameStream } from '@svc/frames';
import { childrenOf, typeOf, valueTypeOf } from '@svc/frames/columns';
import { CATALOG, SCHEMA } from '@svc/frames/statements';
import { DataType, Field, Schema, TimeUnit } from 'apache-arrow';

const PREFIX = 'ARROW:FLIGHT:SQL:';

/** What SQL says about a type. */
interface SqlType {
  readonly name: string;
  /** The most digits, or characters of the text, of a value. */
  readonly precision?: number;
  /** The digits after the point, of a number or of a second. */
  readonly scale?: number;
}

/** The SQL types of columns whose type says it all, by the name of the type. */
const TYPES: Readonly<Record<string, SqlType>> = {
  BOOLEAN: { name: 'BOOLEAN', precision: 1 },
  BYTE: { name: 'TINYINT', precision: 3, scale: 0 },
  SHORT: { name: 'SMALLINT', precision: 5, scale: 0 },
  INT: { name: 'INTEGER', precision: 10, scale: 0 },
  LONG: { name: 'BIGINT', precision: 19, scale: 0 },
  ULONG: { name: 'UBIGINT', precision: 20, scale: 0 },
  LONG128: { name: 'HUGEINT', precision: 39, scale: 0 },
  FLOAT: { name: 'FLOAT', precision: 24 },
  DOUBLE: { name: 'DOUBLE', precision: 53 },
  STRING: { name: 'VARCHAR' },
  SYMBOL: { name: 'VARCHAR' },
  DATE: { name: 'DATE', precision: 10 },
  TIMESTAMP_NS: { name: 'TIMESTAMP_NS', precision: 29, scale: 9 },
  DURATION: { name: 'INTERVAL' },
  INTERVAL: { name: 'INTERVAL' },
  BINARY: { name: 'BLOB' },
  UUID: { name: 'UUID', precision: 36 },
  ARRAY: { name: 'ARRAY' },
  STRUCT: { name: 'STRUCT' },
  MAP: { name: 'MAP' },
};

/** The digits of a second in a unit of time. */
const DIGITS: Readonly<Record<TimeUnit, number>> = {
  [TimeUnit.SECOND]: 0,
  [TimeUnit.MILLISECOND]: 3,
  [TimeUnit.MICROSECOND]: 6,
  [TimeUnit.NANOSECOND]: 9,
};

/**
 * Returns a schema whose columns have the metadata of Flight SQL. `table`: the table that they are of, if it is known.
 * Columns of one type share it, so that it is encoded once: thousands of columns would keep the event loop.
 */
export function withColumnMetadata({ fields, metadata }: Schema, table?: string): Schema {
  const shared = new Map<string, Map<string, string>>();
  const described = fields.map((field: Field<DataType>) => {
    const type = sqlTypeOf(field);
    const own = field.metadata.size === 0 ? '' : JSON.stringify([...field.metadata]);
    const key = `${type.name},${type.precision},${type.scale},${own}`;
    const known = shared.get(key) ?? new Map([...field.metadata, ...metadataOf(type, table)]);
    shared.set(key, known);
    return new Field(field.name, field.type, field.nullable, known);
  });
  return new Schema(described, metadata);
}

/** The same for the rows of a result. */
export function streamWithColumnMetadata({ schema, batches }: FrameStream): FrameStream {
  return { schema: withColumnMetadata(schema), batches };
}

function metadataOf(
  { name, precision, scale }: SqlType,
  table: string | undefined,
): readonly (readonly [string, string])[] {
  const values = {
    TYPE_NAME: name,
    PRECISION: precision,
    SCALE: scale,
    IS_AUTO_INCREMENT: 0,
    IS_CASE_SENSITIVE: name === 'VARCHAR' ? 1 : 0,
    IS_READ_ONLY: 1,
    IS_SEARCHABLE: 1,
    ...(table !== undefined && { CATALOG_NAME: CATALOG, SCHEMA_NAME: SCHEMA, TABLE_NAME: table }),
  };
  return Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[PREFIX + key, `${value}`]]));
}

/** Returns the type of a column as it is written in a cast. */
export function castType(field: Field): string {
  const type = typeOf(field);
  if (DataType.isList(type) || DataType.isFixedSizeList(type)) return `${castType(elementOf(field))}[]`;
  const { name, precision, scale } = sqlTypeOf(field);
  if (name === 'DECIMAL') return `DECIMAL(${precision},${scale})`;
  return name === 'TIMESTAMP WITH TIME ZONE' ? 'TIMESTAMPTZ' : name;
}

/** Returns the column of the elements of a list. */
export function elementOf(field: Field): Field {
  const [element] = childrenOf(field);
  if (element === undefined) throw new Error('A list has no column of elements.');
  return element;
}

function sqlTypeOf(field: Field): SqlType {
  const own = typeOf(field);
  const type = DataType.isDictionary(own) ? valueTypeOf(own) : own;
  const known = columnTypeName(field) ?? 'STRING';
  if (DataType.isInt(type) && !type.isSigned) return unsigned(type.bitWidth);
  if (DataType.isTimestamp(type) && type.timezone) {
    return { name: 'TIMESTAMP WITH TIME ZONE', precision: 32, scale: DIGITS[type.unit] };
  }
  if (known === 'TIMESTAMP' && DataType.isTimestamp(type)) {
    return { name: 'TIMESTAMP', precision: 26, scale: DIGITS[type.unit] };
  }
  if (DataType.isTime(type)) return { name: 'TIME', precision: 15, scale: Math.min(DIGITS[type.unit], 6) };
  if (DataType.isDecimal(type) && known !== 'LONG128') {
    return { name: 'DECIMAL', precision: type.precision, scale: type.scale };
  }
  return TYPES[known] ?? { name: known };
}

const UNSIGNED: Readonly<Record<number, SqlType>> = {
  8: { name: 'UTINYINT', precision: 3, scale: 0 },
  16: { name: 'USMALLINT', precision: 5, scale: 0 },
  32: { name: 'UINTEGER', precision: 10, scale: 0 },
};

function unsigned(bitWidth: number): SqlType {
  return UNSIGNED[bitWidth] ?? { name: 'UBIGINT', precision: 20, scale: 0 };
}
