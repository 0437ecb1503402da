import { sharedNames, sqlNames, TYPE_METADATA_KEY } from '@svc/frames';
import { DataType, type Field, TimeUnit } from 'apache-arrow';
import type { SourceInfo } from '../frame-files.ts';
import { fromClause } from '../source-sql.ts';
import { fileNames, sqlName, sqlText, uniqueNames } from '../storage-types-names.ts';
import { storedColumn } from '../storage-types.ts';

/** The query behind the name of a frame: its columns under the names of `sqlNames`, as DuckDB would have them by itself. */
export function frameViewSql(path: string, info: SourceInfo): string {
  const from = fromClause({ kind: 'parquet', path });
  const { fields } = info.schema;
  // What others have written is what they want it to be.
  if (info.isForeign || fields.length === 0) return `SELECT * FROM ${from}`;
  const stored = fileNames(info.schema);
  const names = sqlNames(fields.map(({ name }) => name));
  const columns = fields.map((field, i) => {
    const column = sqlName(stored[i] ?? '');
    return `${sqlValue(field, column)} AS ${sqlName(names[i] ?? '')}`;
  });
  return `SELECT ${columns.join(', ')} FROM ${from}`;
}

/** SQL for a stored value as DuckDB would have it; the value itself where it is stored so. */
function sqlValue(field: Field, value: string): string {
  const { type } = field;
  const { get } = storedColumn(field);
  if (get.kind === 'digits') return wholeNumber(field, value);
  if (DataType.isInterval(type)) {
    return `(to_months(${value}.months) + to_days(${value}.days) + to_microseconds(${value}.nanos // 1000))`;
  }
  if (DataType.isDuration(type)) return duration(type.unit, value);
  if (DataType.isTime(type) && type.unit === TimeUnit.NANOSECOND) return `CAST(make_timestamp_ns(${value}) AS TIME_NS)`;
  const [child] = type.children ?? [];
  if (child === undefined || !hasOtherForm(field)) return value;
  if (DataType.isStruct(type)) return structValue(type.children, value);
  if (DataType.isMap(type)) {
    const [key, item] = child.type.children;
    const pair = `{'k': ${sqlValue(key, 'e.key')}, 'v': ${sqlValue(item, 'e.value')}}`;
    return `map_from_entries(list_transform(map_entries(${value}), lambda e: ${pair}))`;
  }
  return `list_transform(${value}, lambda e: ${sqlValue(child, 'e')})`;
}

/** Whether some value inside of a column is stored in another form than SQL has it. */
function hasOtherForm(field: Field): boolean {
  const { type } = field;
  if (DataType.isInterval(type) || DataType.isDuration(type) || storedColumn(field).get.kind === 'digits') return true;
  if (DataType.isTime(type) && type.unit === TimeUnit.NANOSECOND) return true;
  return hasSharedNames(type) || (type.children ?? []).some(hasOtherForm);
}

function hasSharedNames(type: DataType): boolean {
  return DataType.isStruct(type) && sharedNames(type.children.map(({ name }) => name)).size > 0;
}

function structValue(children: readonly Field[], value: string): string {
  const stored = uniqueNames(children.map(({ name }) => name));
  const names = sqlNames(children.map(({ name }) => name));
  const members = children.map((child, i) => {
    const member = sqlValue(child, `${value}.${sqlName(stored[i] ?? '')}`);
    return `${sqlText(names[i] ?? '')}: ${member}`;
  });
  return `CASE WHEN ${value} IS NULL THEN NULL ELSE {${members.join(', ')}} END`;
}

/** Numbers that are stored as the digits they have: 128-bit integers, and decimals that DuckDB has no type for. */
function wholeNumber({ type, metadata }: Field, value: string): string {
  if (metadata.get(TYPE_METADATA_KEY) === 'LONG128') return `CAST(${value} AS HUGEINT)`;
  const scale = DataType.isDecimal(type) ? type.scale : 0;
  if (scale <= 0) return `(CASE WHEN ${value} = '0' THEN '0' ELSE ${value} || ${sqlText('0'.repeat(-scale))} END)`;
  const digits = `ltrim(${value}, '-')`;
  const padded = `lpad(${digits}, greatest(length(${digits}), ${scale + 1})::INTEGER, '0')`;
  return `(CASE WHEN ${value} LIKE '-%' THEN '-' ELSE '' END || ${padded}[:-${scale + 1}] || '.' || ${padded}[-${scale}:])`;
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
