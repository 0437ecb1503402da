import { type Axis, axisOf, isFloat, type Range } from '../chart/axis.ts';
import type { Field } from '../chart/chart-reader.ts';
import type { Relation } from '../chart/relation.ts';

/** Larger frames are summarised by their first rows: more would take minutes. */
export const MAX_ROWS = 5_000_000;
/** How many of the first rows that are. */
export const FIRST_ROWS = 1_000_000;
/** The bars of a small histogram. */
export const MAX_BINS = 24;
/** The most frequent values that are shown. */
export const TOP_VALUES = 5;

const NESTED = new Set(['ARRAY', 'STRUCT', 'MAP', 'BINARY']);
/** The most characters of a lowest or highest text. */
export const TEXT_LENGTH = 100;

/** Whether the values of a type have an order that people know. */
export function hasOrder(type: string): boolean {
  return !NESTED.has(type);
}

/** Returns the SQL for the relation of a column's values: of all rows, or of the first. */
export function valuesSql(relation: Relation, { index }: Field, isCut: boolean): string {
  return `(select ${relation.column(index)} as v from ${relation.sql}${isCut ? ` limit ${FIRST_ROWS}` : ''})`;
}

/**
 * Returns the SQL for the figures of a column: rows, nulls, different values, lowest, highest, mean, and the values that
 * are NaN or infinite, which the others leave out. Long texts are cut.
 */
export function figuresSql(values: string, { type }: Field): string {
  const isText = type === 'STRING' || type === 'SYMBOL';
  const text = (sql: string): string => (isText ? `left(cast(${sql} as varchar), ${TEXT_LENGTH})` : sql);
  const finite = isFloat(type) ? ' filter (where isfinite(v))' : '';
  const axis = axisOf(type);
  // The sum of 128-bit numbers can be too large for 128 bits.
  const mean = axis && axis.kind !== 'time' ? `avg(${type === 'LONG128' ? 'v::double' : 'v'})${finite}` : 'null';
  const odd = isFloat(type) ? 'count(*) filter (where v is not null and not isfinite(v))' : '0';
  const extremes = hasOrder(type) ? `${text(`min(v)${finite}`)}, ${text(`max(v)${finite}`)}` : 'null, null';
  return `select count(*), count(*) - count(v), count(distinct v), ${extremes}, ${mean}, ${odd} from ${values}`;
}

/** Whether a column has a histogram: numbers and times have, unless they have only few values. */
export function hasHistogram({ type }: Field, distinct: number): boolean {
  return axisOf(type) !== undefined && distinct > TOP_VALUES;
}

/** The bars of a histogram: their heights from 0 to 1, and the ends of the axis. */
export interface SmallHistogram {
  readonly axis: Axis;
  readonly range: Range;
  readonly counts: readonly number[];
}
