import { quoted } from '@svc/errors/internal';
import { childrenOf, keyAndValueOf, TYPE_METADATA_KEY, typeOf } from '@svc/frames/columns';
import { distinctNames, sharedNames, sqlNames } from '@svc/frames/sql';
import { DataType, Field, List, Null, Schema, Struct, TimeUnit } from 'apache-arrow';
import type { ForeignColumn, SourceInfo } from '../files/frame-files.ts';
import { parquetClause } from '../files/source-sql.ts';
import { fieldFromDuckdb, foreignColumn } from '../types/duckdb-types.ts';
import { mapType, storedColumn } from '../types/stored-types.ts';
import { type DuckType, fitsPlan, type GetPlan } from '../wire/column-plans.ts';
import type { SqlResponses } from '../wire/requests.ts';
import { fileNames, namedSql, sqlName, sqlText, uniqueNames } from '../wire/sql-names.ts';

/**
 * Returns the query behind the name of a frame: its columns under their `sqlNames`, in DuckDB's native types. A
 * column only selected by a `plain` statement keeps its stored form.
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
    if (foreign !== undefined) return namedSql(foreign[i] ?? column, name);
    if (!hasOtherForm(field)) return namedSql(column, name);
    const isUsed = plain === undefined || plain.used.has(name.toLowerCase());
    const value = isUsed ? sqlValue(field, column, field.name) : `{${sqlText(storedName(plain.frame, i))}: ${column}}`;
    return namedSql(value, name);
  });
  return `SELECT ${columns.join(', ')} FROM ${from}`;
}

/** Returns SQL for a column of a foreign file if its type in SQL differs from the one found by DuckDB. */
function foreignValue(field: Field, known: ForeignColumn | undefined): string | undefined {
  const column = sqlName(known?.name ?? field.name);
  if (DataType.isDuration(field.type)) return sqlValue(field, column, field.name);
  if (known?.viewType === undefined || known.viewType === known.sqlType) return undefined;
  // A cast takes 40 times as long, and refuses the last hours of the range.
  if (known.viewType === 'TIMESTAMPTZ') return `make_timestamptz(epoch_us(${column}))`;
  return `CAST(${column} AS ${known.viewType})`;
}

/** A statement selects columns unchanged. It sees their stored form, except of the columns it computes with. */
export interface PlainSelect {
  /** The index of this frame among those of the statement. */
  readonly frame: number;
  /** The columns it computes with, in lower case. */
  readonly used: ReadonlySet<string>;
}

/** A column in its stored form is wrapped in a struct; the name of the only field identifies the column. */
function storedName(frame: number, column: number): string {
  return `svc:stored:${frame}:${column}`;
}

/** Returns the column wrapped by a struct with this field name, if there is one. */
function storedPlace(name: string): { readonly frame: number; readonly column: number } | undefined {
  const [, frame, column] = /^svc:stored:(\d+):(\d+)$/.exec(name) ?? [];
  return frame === undefined ? undefined : { frame: Number(frame), column: Number(column) };
}

/**
 * Returns SQL for a stored value in DuckDB's native type, or the value itself if both are the same. A value beyond the
 * native type is an error about the column, `title`.
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

/** Returns SQL for a value, or an error unless the condition is true or null. */
function checked(condition: string, value: string, message: string): string {
  return `CASE WHEN NOT (${condition}) THEN error(${sqlText(message)}) ELSE ${value} END`;
}

/** True if the stored form of a column, or of a value nested in it, differs from its SQL form. */
function hasOtherForm(field: Field): boolean {
  const type = typeOf(field);
  if (DataType.isInterval(type) || DataType.isDuration(type)) return true;
  if (DataType.isDecimal(type) && storedColumn(field).get.kind === 'digits') return true;
  if (DataType.isTime(type) && type.unit === TimeUnit.NANOSECOND) return true;
  return hasSharedNames(type) || childrenOf(field).some(hasOtherForm);
}

/** True if struct fields, at any depth, have other names in SQL than in the frame. */
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
 * Returns SQL for numbers stored as text: 128-bit integers, and decimals without a type in DuckDB. Files of
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

/** The schema of a statement's result, and how to read it. */
export interface ResultPlan {
  readonly schema: Schema;
  readonly plans: readonly GetPlan[];
  /** The types to cast all columns to, if any column cannot be read as it is. */
  readonly casts?: readonly string[];
}

/** Returns the plan for DuckDB's result columns; `frames` are the schemas behind the views of the statement. */
export function resultPlan(columns: SqlResponses['prepare']['columns'], frames: readonly Schema[]): ResultPlan {
  const names = distinctNames(columns.map(({ name }) => name));
  const planned = columns.map(({ type }, i) => columnPlan(names[i] ?? '', type, frames));
  const isReadable = columns.every(({ type }, i) => {
    const get = planned[i]?.get;
    return get !== undefined && fitsPlan(type, get);
  });
  return {
    schema: new Schema(planned.map(({ field }) => field)),
    plans: planned.map(({ get }) => get),
    ...(!isReadable && { casts: planned.map(({ sqlType }) => sqlType) }),
  };
}

interface ColumnPlan {
  readonly field: Field;
  readonly get: GetPlan;
  /** Empty if the column is not cast. */
  readonly sqlType: string;
}

/** A column in its stored form keeps the field of its frame; any other gets the type reported by DuckDB. */
function columnPlan(name: string, type: DuckType, frames: readonly Schema[]): ColumnPlan {
  const [member, ...others] = 'fields' in type ? type.fields : [];
  const place = member && others.length === 0 ? storedPlace(member.name) : undefined;
  const stored = place && frames[place.frame]?.fields[place.column];
  if (stored !== undefined && member !== undefined) {
    const { field, get } = storedColumn(stored);
    const isStored = fitsPlan(member.type, get);
    const named = field.clone({ name, type: withSqlNames(typeOf(field)) });
    if (isStored) return { field: named, get: { kind: 'wrapped', item: get }, sqlType: '' };
  }
  const field = fieldFromDuckdb(name, type);
  return { field, ...foreignColumn(field) };
}

/** Returns the type with the SQL names of struct fields. */
function withSqlNames(type: DataType): DataType {
  const fields: readonly Field[] = type.children ?? [];
  if (fields.length === 0) return type;
  const children: readonly Field[] = fields.map((field) => field.clone({ type: withSqlNames(typeOf(field)) }));
  if (DataType.isStruct(type)) {
    const names = sqlNames(children.map(({ name }) => name));
    return new Struct(children.map((child, i) => child.clone({ name: names[i] ?? '' })));
  }
  const [child] = children;
  if (child === undefined) return type;
  return DataType.isMap(type) ? mapType(child, type.keysSorted) : new List(child);
}

/** Returns the fields of parameters, with the type null if the statement does not determine it. */
export function parameterSchema(types: readonly DuckType[]): Schema {
  return new Schema(
    types.map((type, i) => {
      const name = String(i + 1);
      return OPEN_TYPES.has(type.name) ? new Field(name, new Null(), true) : fieldFromDuckdb(name, type);
    }),
  );
}

const OPEN_TYPES: ReadonlySet<string> = new Set(['ANY', 'INVALID', 'SQLNULL', 'UNKNOWN']);
