import { childrenOf, keyAndValueOf, typeOf } from '@svc/frames/internal';
import { DataType, type Field, Precision, type Schema, type Timestamp, TimeUnit, Type } from 'apache-arrow';

/**
 * Returns the columns of Parquet files as Spark declares them. Spark cannot infer all types of a file, but reads each as
 * the type that is given here.
 */
export function ddlOf(schema: Schema): string {
  return schema.fields.map((field) => `${quoteName(field.name)} ${typeDdl(field)}`).join(', ');
}

/** Quotes a name for Spark. */
export function quoteName(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

function typeDdl(field: Field): string {
  const type = typeOf(field);
  if (DataType.isInt(type)) return INTEGERS[`${type.isSigned}${type.bitWidth}`] ?? 'BIGINT';
  if (DataType.isFloat(type)) return type.precision === Precision.DOUBLE ? 'DOUBLE' : 'FLOAT';
  if (DataType.isDecimal(type)) return `DECIMAL(${type.precision}, ${type.scale})`;
  if (DataType.isTimestamp(type)) return timestampDdl(type);
  if (DataType.isStruct(type)) {
    return `STRUCT<${childrenOf(field)
      .map((child) => `${quoteName(child.name)}: ${typeDdl(child)}`)
      .join(', ')}>`;
  }
  if (DataType.isMap(type)) return `MAP<${keyAndValueOf(field).map(typeDdl).join(', ')}>`;
  const [item] = childrenOf(field);
  if (item !== undefined) return `ARRAY<${typeDdl(item)}>`;
  return PLAIN[type.typeId] ?? 'STRING';
}

/** Spark has no nanoseconds: a file's are read as their number since 1970. */
function timestampDdl({ unit, timezone }: Timestamp): string {
  if (unit === TimeUnit.NANOSECOND) return 'BIGINT';
  return timezone ? 'TIMESTAMP' : 'TIMESTAMP_NTZ';
}

/** Spark has no unsigned types: it reads them as the next larger one. */
const INTEGERS: Readonly<Record<string, string>> = {
  true8: 'TINYINT',
  true16: 'SMALLINT',
  true32: 'INT',
  true64: 'BIGINT',
  false8: 'SMALLINT',
  false16: 'INT',
  false32: 'BIGINT',
  false64: 'DECIMAL(20, 0)',
};

const PLAIN: Readonly<Partial<Record<Type, string>>> = {
  [Type.Bool]: 'BOOLEAN',
  [Type.Date]: 'DATE',
  // The number of microseconds since midnight.
  [Type.Time]: 'BIGINT',
  [Type.Binary]: 'BINARY',
  [Type.LargeBinary]: 'BINARY',
  [Type.BinaryView]: 'BINARY',
  [Type.FixedSizeBinary]: 'BINARY',
};
