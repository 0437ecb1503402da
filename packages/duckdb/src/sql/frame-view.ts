import { quoted } from '@svc/errors/internal';
import { childrenOf, keyAndValueOf, sharedNames, sqlNames, TYPE_METADATA_KEY, typeOf } from '@svc/frames/internal';
import { DataType, type Field, TimeUnit } from 'apache-arrow';
import type { ForeignColumn, SourceInfo } from '../files/frame-files.ts';
import { parquetClause } from '../files/source-sql.ts';
import { fileNames, sqlName, sqlText, uniqueNames } from '../wire/sql-names.ts';
import { storedColumn } from '../types/stored-types.ts';

/**
 * Returns the query behind the name of a frame: its columns under their `sqlNames`, in DuckDB's native types. A column that
 * a `plain` statement only selects keeps its stored form.
 */
export function frameViewSql(paths: readonly string[], info: SourceInfo, plain?: PlainSelect): string {
  const from = parquetClause(paths);
  const { fields } = info.schema;
  // Foreign files keep the types they were written with.
  const foreign = info.isForeign && fields.map((field, i) => foreignValue(field, info.foreignColumns?.[i]));
  const isOther = foreign?.every((value) => value === undefined);
  if (isOther || fields.length === 0) return `SELECT * FROM ${from}`;
  const stored = info.foreignColumns?.map(({ name }) => name) ?? fileNames(info.schema);
  const names = sqlNames(fields.map(({ name }) => name));
  const columns = fields.map((field, i) => {
    const column = sqlName(stored[i] ?? '');
    const name = names[i] ?? '';
    if (foreign !== undefined) return `${foreign[i] ?? column} AS ${sqlName(name)}`;
    if (!hasOtherForm(field)) return `${column} AS ${sqlName(name)}`;
    const isUsed = plain === undefined || plain.used.has(name.toLowerCase());
    const value = isUsed ? sqlValue(field, column, field.name) : `{${sqlText(storedName(plain.frame, i))}: ${column}}`;
    return `${value} AS ${sqlName(name)}`;
  });
  return `SELECT ${columns.join(', ')} FROM ${from}`;
}

/** Returns SQL for a column of a foreign file whose type in SQL is not the one that DuckDB finds; undefined for others. */
function foreignValue(field: Field, known: ForeignColumn | undefined): string | undefined {
  const column = sqlName(known?.name ?? field.name);
  if (DataType.isDuration(field.type)) return sqlValue(field, column, field.name);
  if (known?.viewType === undefined || known.viewType === known.sqlType) return undefined;
  // A cast takes 40 times as long, and refuses the last hours of the range.
  if (known.viewType === 'TIMESTAMPTZ') return `make_timestamptz(epoch_us(${column}))`;
  return `CAST(${column} AS ${known.viewType})`;
}

/** A statement that selects columns unchanged. It sees the stored form of each column that it does not compute with. */
export interface PlainSelect {
  /** The index of this frame among those of the statement. */
  readonly frame: number;
  /** The columns that it computes with, in lower case. */
  readonly used: ReadonlySet<string>;
}

/** A column in its stored form is wrapped in a struct; the name of the only field identifies the column. */
function storedName(frame: number, column: number): string {
  return `svc:stored:${frame}:${column}`;
}

/** Returns the column that a struct with this field name wraps; undefined if it wraps none. */
export function storedPlace(name: string): { readonly frame: number; readonly column: number } | undefined {
  const [, frame, column] = /^svc:stored:(\d+):(\d+)$/.exec(name) ?? [];
  return frame === undefined ? undefined : { frame: Number(frame), column: Number(column) };
}

/**
 * Returns SQL that converts a stored value to DuckDB's native type, or the value itself if both are the same. A value that
 * does not fit the native type is an error that names the column, `title`.
 */
function sqlValue(field: Field, value: string, title: string): string {
  const type = typeOf(field);
  const { get } = storedColumn(field);
  if (get.kind === 'digits') return wholeNumber(field, value);
  if (DataType.isInterval(type)) {
    const interval = `(to_months(${value}.months) + to_days(${value}.days) + to_microseconds(${value}.nanos // 1000))`;
    return checked(`${value}.nanos % 1000 = 0`, interval, `${NO_NANOS} ${quoted(title)} ${HAS_NANOS}`);
  }
  if (DataType.isDuration(type)) {
    const micros = duration(type.unit, value);
    if (type.unit !== TimeUnit.NANOSECOND) return micros;
    return checked(`${value} % 1000 = 0`, micros, `${NO_NANOS} ${quoted(title)} ${HAS_NANOS}`);
  }
  if (DataType.isTime(type) && type.unit === TimeUnit.NANOSECOND) {
    const time = `CAST(make_timestamp_ns(${value}) AS TIME_NS)`;
    const message = `TIME_NS is limited to a day, but column ${quoted(title)} has a later time. SELECT the column unchanged.`;
    return checked(`${value} BETWEEN 0 AND 86399999999999`, time, message);
  }
  const [child] = childrenOf(field);
  if (child === undefined || !hasOtherForm(field)) return value;
  if (DataType.isStruct(type)) return structValue(type.children, value, title);
  if (DataType.isMap(type)) {
    const [key, item] = keyAndValueOf(field);
    const pair = `{'k': ${sqlValue(key, 'e.key', title)}, 'v': ${sqlValue(item, 'e.value', title)}}`;
    return `map_from_entries(list_transform(map_entries(${value}), lambda e: ${pair}))`;
  }
  return `list_transform(${value}, lambda e: ${sqlValue(child, 'e', title)})`;
}

const NO_NANOS = 'INTERVAL has microsecond precision, but column';
const HAS_NANOS = 'has a value with nanoseconds. SELECT the column unchanged, without calculating with it.';

/** Returns SQL for a value that raises an error unless the condition is true or null. */
function checked(condition: string, value: string, message: string): string {
  return `CASE WHEN NOT (${condition}) THEN error(${sqlText(message)}) ELSE ${value} END`;
}

/** Whether the stored form of a column, or of a value nested in it, differs from its SQL form. */
function hasOtherForm(field: Field): boolean {
  const type = typeOf(field);
  if (DataType.isInterval(type) || DataType.isDuration(type)) return true;
  if (DataType.isDecimal(type) && storedColumn(field).get.kind === 'digits') return true;
  if (DataType.isTime(type) && type.unit === TimeUnit.NANOSECOND) return true;
  return hasSharedNames(type) || childrenOf(field).some(hasOtherForm);
}

/** Whether struct fields, at any depth, have other names in SQL than in the frame. */
function hasSharedNames(type: DataType): boolean {
  const children: readonly Field[] = type.children ?? [];
  const isShared = DataType.isStruct(type) && sharedNames(children.map(({ name }) => name)).size > 0;
  return isShared || children.some((child) => hasSharedNames(typeOf(child)));
}

function structValue(children: readonly Field[], value: string, title: string): string {
  const stored = uniqueNames(children.map(({ name }) => name));
  const names = sqlNames(children.map(({ name }) => name));
  const members = children.map((child, i) => {
    const member = sqlValue(child, `${value}.${sqlName(stored[i] ?? '')}`, title);
    return `${sqlText(names[i] ?? '')}: ${member}`;
  });
  return `CASE WHEN ${value} IS NULL THEN NULL ELSE {${members.join(', ')}} END`;
}

/**
 * Returns SQL for numbers that are stored as text: 128-bit integers, and decimals that DuckDB has no type for. Files of
 * older versions have only the digits of such decimals, without a point or an exponent.
 */
function wholeNumber({ type, metadata }: Field, value: string): string {
  if (metadata.get(TYPE_METADATA_KEY) === 'LONG128') return `CAST(${value} AS HUGEINT)`;
  const scale = DataType.isDecimal(type) ? type.scale : 0;
  if (scale === 0) return value;
  if (scale < 0) {
    return `(CASE WHEN ${value} = '0' THEN '0' ELSE split_part(${value}, 'e', 1) || ${sqlText('0'.repeat(-scale))} END)`;
  }
  const digits = `ltrim(${value}, '-')`;
  const padded = `lpad(${digits}, greatest(length(${digits}), ${scale + 1})::INTEGER, '0')`;
  const pointed = `CASE WHEN ${value} LIKE '-%' THEN '-' ELSE '' END || ${padded}[:-${scale + 1}] || '.' || ${padded}[-${scale}:]`;
  return `(CASE WHEN contains(${value}, '.') THEN ${value} ELSE ${pointed} END)`;
}

const DURATIONS: Readonly<Record<TimeUnit, (value: string) => string>> = {
  [TimeUnit.SECOND]: (value) => `to_seconds(${value})`,
  [TimeUnit.MILLISECOND]: (value) => `to_milliseconds(${value})`,
  [TimeUnit.MICROSECOND]: (value) => `to_microseconds(${value})`,
  [TimeUnit.NANOSECOND]: (value) => `to_microseconds(${value} // 1000)`,
};

function duration(unit: TimeUnit, value: string): string {
  return DURATIONS[unit](value);
}
