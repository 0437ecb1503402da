import { quotedName } from '../state/quote-name.ts';
import { foldedName } from '../state/rows-sql.ts';
import { type Axis, isFloat, type Place, type Range, type TimeAxis } from './axis.ts';
import type { ChartSource } from './chart-source.ts';

/** A relation in SQL, and how its columns are named there. */
export interface Relation {
  /** What follows `from`. */
  readonly sql: string;
  /** The SQL of a column, by its place. */
  column(index: number): string;
}

/** Returns a statement without its semicolon as a relation. Its last line may be a comment. */
export function subqueryOf(statement: string): string {
  return `(\n${statement}\n)`;
}

/**
 * Returns the relation of a source. Columns whose names differ in SQL are called by them, so that a frame whose columns
 * have changed is an error; columns with equal names (`a`, `A`) or names that SQL does not have get others by their place.
 */
export function relationOf({ from, columns }: Pick<ChartSource, 'columns' | 'from'>): Relation {
  const names = columns.map(({ name }) => name);
  const folded = new Set(names.map(foldedName));
  const areNames = folded.size === names.length && names.every((name) => name !== '' && !name.includes('\0'));
  if (areNames) return { sql: `${from} as r`, column: (index) => `r.${quotedName(names[index] ?? '')}` };
  const placed = names.map((_, index) => `c${index}`);
  return { sql: `${from} as r(${placed.join(', ')})`, column: (index) => `r.c${index}` };
}

/** Returns the SQL of the place of a column's value on its axis, in units; null for values that have none. */
export function placeSql(axis: Axis, type: string, column: string): string {
  if (axis.kind === 'time') {
    if (axis.unit === 'ns') return `epoch_ns(${column})`;
    // Dates reach further than timestamps.
    return type === 'DATE' ? `try(epoch_us(${column}))` : `epoch_us(${column})`;
  }
  if (axis.kind === 'whole') {
    if (axis.scale > 0)
      return `cast(${column} * ${10n ** BigInt(axis.scale)}::decimal(${axis.scale + 1}, 0) as hugeint)`;
    return type === 'ULONG' || type.startsWith('DECIMAL') ? `cast(${column} as hugeint)` : `cast(${column} as bigint)`;
  }
  return finiteSql(type, `cast(${column} as double)`);
}

/** Returns the SQL of a column's value, null instead of NaN and infinity, which have no pixel. */
export function finiteSql(type: string, column: string): string {
  return isFloat(type) ? `case when isfinite(${column}) then ${column} end` : column;
}

/** Returns the SQL that holds for rows in a range, in a form that lets the engine skip parts of a file. */
export function withinSql(axis: Axis, type: string, column: string, range: Range): string {
  const lo = literal(axis.kind === 'time' ? inReach(axis, range.lo) : range.lo);
  const hi = literal(axis.kind === 'time' ? inReach(axis, range.hi) : range.hi);
  if (axis.kind === 'time' && type === 'TIMESTAMP') {
    return `${column} between make_timestamp(${lo}) and make_timestamp(${hi})`;
  }
  if (axis.kind === 'time' && type === 'TIMESTAMP_NS') {
    return `${column} between make_timestamp_ns(${lo}) and make_timestamp_ns(${hi})`;
  }
  if (type.startsWith('DECIMAL') || type === 'LONG128' || axis.kind === 'time') {
    return `${placeSql(axis, type, column)} between ${lo} and ${hi}`;
  }
  return `${column} between ${lo} and ${hi}`;
}

/** The first and the last time that the engine has, in units. */
const FIRST_TIME = { us: -9_223_372_022_400_000_000n, ns: -9_223_286_400_000_000_000n };
const LAST_TIME = 2n ** 63n - 2n;

/** Returns the nearest time that the engine has: a bucket may start before the first one, and end after the last. */
function inReach({ unit }: TimeAxis, place: Place): Place {
  if (place < FIRST_TIME[unit]) return FIRST_TIME[unit];
  return place > LAST_TIME ? LAST_TIME : place;
}

/** Returns a place as SQL. */
export function literal(place: Place): string {
  return typeof place === 'bigint' ? String(place) : `${place.toExponential()}::double`;
}
