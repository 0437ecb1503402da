import { childrenOf, keyAndValueOf, TYPE_METADATA_KEY, typeOf } from '@svc/frames/columns';
import {
  Binary,
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
  IntervalMonthDayNano,
  List,
  Struct,
  TimeMicrosecond,
  TimeNanosecond,
  TimestampMicrosecond,
  TimestampNanosecond,
  TimeUnit,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
  Utf8,
} from 'apache-arrow';
import type { DuckType, GetPlan, Int96Unit } from '../wire/column-plans.ts';
import { sqlName } from '../wire/sql-names.ts';
import { mapOf, storedColumn } from './stored-types.ts';

/** DuckDB types without parameters. Any type not handled here is read as its text form. */
const PLAIN: Readonly<Record<string, () => DataType>> = {
  BOOLEAN: () => new Bool(),
  TINYINT: () => new Int8(),
  SMALLINT: () => new Int16(),
  INTEGER: () => new Int32(),
  BIGINT: () => new Int64(),
  UTINYINT: () => new Uint8(),
  USMALLINT: () => new Uint16(),
  UINTEGER: () => new Uint32(),
  UBIGINT: () => new Uint64(),
  FLOAT: () => new Float32(),
  DOUBLE: () => new Float64(),
  BLOB: () => new Binary(),
  DATE: () => new DateDay(),
  TIME: () => new TimeMicrosecond(),
  TIME_NS: () => new TimeNanosecond(),
  TIMESTAMP: () => new TimestampMicrosecond(),
  TIMESTAMP_S: () => new TimestampMicrosecond(),
  TIMESTAMP_MS: () => new TimestampMicrosecond(),
  TIMESTAMP_NS: () => new TimestampNanosecond(),
  TIMESTAMP_TZ: () => new TimestampMicrosecond('UTC'),
};

const LONG128 = new Map([[TYPE_METADATA_KEY, 'LONG128']]);
const SYMBOL = new Map([[TYPE_METADATA_KEY, 'SYMBOL']]);
const UUID = new Map([['ARROW:extension:name', 'arrow.uuid']]);

/** Maps a column of a foreign file or table to the column it is read as. */
export function fieldFromDuckdb(name: string, type: DuckType): Field {
  if ('precision' in type) return new Field(name, new Decimal(type.scale, type.precision, 128), true);
  if ('item' in type) return new Field(name, new List(fieldFromDuckdb('item', type.item)), true);
  if ('key' in type) {
    const entries = [fieldFromDuckdb('key', type.key), fieldFromDuckdb('value', type.value)] as const;
    return new Field(name, mapOf(...entries), true);
  }
  if ('fields' in type) {
    const fields = type.fields.map((field) => fieldFromDuckdb(field.name, field.type));
    return new Field(name, new Struct(fields), true);
  }
  const plain = PLAIN[type.name];
  if (plain !== undefined) return new Field(name, plain(), true);
  if (type.name === 'HUGEINT') return new Field(name, new Decimal(0, 38, 128), true, LONG128);
  if (type.name === 'UUID') return new Field(name, new FixedSizeBinary(16), true, UUID);
  if (type.name === 'INTERVAL') return new Field(name, new IntervalMonthDayNano(), true);
  return new Field(name, new Utf8(), true, type.name === 'ENUM' ? SYMBOL : new Map<string, string>());
}

/** How a foreign column becomes a field: the cast to apply first, and the plan to read the result. */
export function foreignColumn(field: Field): { readonly sqlType: string; readonly get: GetPlan } {
  const { metadata } = field;
  const type = typeOf(field);
  if (metadata.get(TYPE_METADATA_KEY) === 'LONG128') {
    return { sqlType: 'HUGEINT', get: { kind: 'copy', width: 16, type: 'HUGEINT' } };
  }
  if (DataType.isDuration(type)) return { sqlType: 'BIGINT', get: storedColumn(field).get };
  if (DataType.isInterval(type)) return { sqlType: 'INTERVAL', get: { kind: 'duckdb_interval' } };
  if (DataType.isTime(type) && type.unit === TimeUnit.NANOSECOND) {
    return { sqlType: 'TIME_NS', get: { kind: 'copy', width: 8, type: 'TIME_NS' } };
  }
  const [first, second] = childrenOf(field);
  if (DataType.isList(type) && first !== undefined) {
    const item = foreignColumn(first);
    return { sqlType: `${item.sqlType}[]`, get: { kind: 'list', isMap: false, item: item.get } };
  }
  if (DataType.isMap(type) && first !== undefined) {
    const [key, value] = keyAndValueOf(field).map((child) => foreignColumn(child));
    const item = foreignColumn(first).get;
    return { sqlType: `MAP(${key?.sqlType}, ${value?.sqlType})`, get: { kind: 'list', isMap: true, item } };
  }
  if (DataType.isStruct(type) && (first ?? second) !== undefined) {
    const fields = type.children.map((child) => foreignColumn(child));
    const members = fields.map(({ sqlType }, i) => `${sqlName(type.children[i]?.name ?? '')} ${sqlType}`);
    return { sqlType: `STRUCT(${members.join(', ')})`, get: { kind: 'struct', fields: fields.map(({ get }) => get) } };
  }
  const { get } = storedColumn(field);
  return { sqlType: plainSqlType(get), get };
}

/** The SQL type for a plan. */
function plainSqlType(plan: GetPlan): string {
  switch (plan.kind) {
    case 'bits':
      return 'BOOLEAN';
    case 'copy':
      return plan.type === 'TIMESTAMP_TZ' ? 'TIMESTAMPTZ' : plan.type;
    case 'decimal':
      return `DECIMAL(${plan.precision}, ${plan.scale})`;
    case 'uuid':
      return 'UUID';
    case 'bytes':
      return plan.isText ? 'VARCHAR' : 'BLOB';
    case 'digits':
    case 'decimal_bytes':
    case 'int96':
    case 'interval':
    case 'duckdb_interval':
    case 'list':
    case 'struct':
    case 'empty_struct':
    case 'wrapped':
      throw new Error(`No foreign column is read by the plan ${plan.kind}.`);
    default:
      return plan satisfies never;
  }
}

/**
 * True if SQL can convert a foreign column to our storage form. SQL has no cast for values nested in other types, or for
 * raw bytes.
 */
export function isStoredBySql(plan: GetPlan, isNested = false): boolean {
  if (plan.kind === 'decimal_bytes' || plan.kind === 'int96') return false;
  if (plan.kind === 'list') return isStoredBySql(plan.item, true);
  if (plan.kind === 'struct') return plan.fields.every((field) => isStoredBySql(field, true));
  const hasCast = plan.kind === 'copy' ? plan.type !== 'TIME_NS' : plan.kind !== 'duckdb_interval';
  return hasCast || !isNested;
}

/** True if a plan reads INT96 timestamps (in `unit`, if given). */
export function hasInt96(plan: GetPlan, unit?: Int96Unit): boolean {
  if (plan.kind === 'list') return hasInt96(plan.item, unit);
  if (plan.kind === 'struct') return plan.fields.some((field) => hasInt96(field, unit));
  return plan.kind === 'int96' && (unit ?? plan.unit) === plan.unit;
}

/** SQL to convert a foreign column, already cast to the type it is read as, to our storage form. */
export function storeExpression(column: string, field: Field, sqlType = foreignColumn(field).sqlType): string {
  const type = typeOf(field);
  if (DataType.isInterval(type)) {
    const minutes = `(datepart('hour', ${column}) * 60 + datepart('minute', ${column}))`;
    return `CASE WHEN ${column} IS NULL THEN NULL ELSE struct_pack(
      months := (datepart('year', ${column}) * 12 + datepart('month', ${column}))::INTEGER,
      days := datepart('day', ${column})::INTEGER,
      nanos := (${minutes} * 60000000 + datepart('microsecond', ${column})) * 1000) END`;
  }
  if (DataType.isTime(type) && type.unit === TimeUnit.NANOSECOND) return `epoch_ns(${column})`;
  // 128-bit integers, at any depth, are stored as decimal text.
  return `CAST(${column} AS ${sqlType.replaceAll('HUGEINT', 'VARCHAR')})`;
}
