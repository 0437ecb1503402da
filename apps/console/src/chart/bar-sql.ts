import type { Aggregate } from '../state/tabs.ts';
import type { Axis, Range } from './axis.ts';
import type { Bucket } from './bucket.ts';
import type { BarValues, Field } from './chart-reader.ts';
import { finiteSql, placeSql, type Relation, withinSql } from './relation.ts';

/** The most characters of a value that labels a bar. */
export const MAX_LABEL = 200;

const FUNCTIONS: Readonly<Record<Aggregate, string>> = { sum: 'sum', mean: 'avg', min: 'min', max: 'max' };

/** Returns the SQL for the bars of a column's values: value, rows, aggregates, number of values. */
export function barSql(relation: Relation, x: Field, { y, aggregate }: BarValues, most: number): string {
  const column = relation.column(x.index);
  const values = y.map((field, i) => `, ${aggregateSql(aggregate, valueSql(relation, field))} as v${i}`).join('');
  const order = y.length > 0 ? 'v0 desc nulls last, n desc' : 'n desc';
  return (
    `select left(cast(${column} as varchar), ${MAX_LABEL}) as k, count(*) as n, count(*) over ()${values} ` +
    `from ${relation.sql} group by ${column} order by ${order}, k nulls last limit ${most}`
  );
}

/** Returns the SQL for the bars of buckets: bucket, rows, aggregates. */
export function bucketSql(
  { relation, axis, x }: BucketColumns,
  { y, aggregate }: BarValues,
  bucket: Bucket,
  range: Range,
): string {
  const values = y.map((_, i) => `, ${aggregateSql(aggregate, `v${i}`)}`).join('');
  const points = pointsSql({ relation, axis, x }, y, range);
  return `select ${bucket.sql} as k, count(*)${values} from (${points}) where p is not null group by k order by k`;
}

/** Returns the SQL for the candles of buckets: bucket, rows, open, high, low, close. */
export function candleSql(columns: BucketColumns, ohlc: readonly Field[], bucket: Bucket, range: Range): string {
  const [open, high, low, close] = ohlc.length === 1 ? ['v0', 'v0', 'v0', 'v0'] : ['v0', 'v1', 'v2', 'v3'];
  return (
    `select ${bucket.sql} as k, count(*), arg_min(${open}, p), max(${high}), min(${low}), arg_max(${close}, p) ` +
    `from (${pointsSql(columns, ohlc, range)}) where p is not null group by k order by k`
  );
}

/** Returns the SQL for each row as a candle: place, 1, open, high, low, close. */
export function rowCandleSql(columns: BucketColumns, ohlc: readonly Field[], range: Range, limit: number): string {
  const values = ohlc.map((_, i) => `v${i}`).join(', ');
  const points = pointsSql(columns, ohlc, range);
  return `select p, 1, ${values} from (${points}) where p is not null order by p limit ${limit}`;
}

/** The columns of a chart with buckets in SQL. */
export interface BucketColumns {
  readonly relation: Relation;
  readonly axis: Axis;
  readonly x: Field;
}

function pointsSql({ relation, axis, x }: BucketColumns, fields: readonly Field[], range: Range): string {
  const column = relation.column(x.index);
  const values = fields.map((field, i) => `, ${valueSql(relation, field)} as v${i}`).join('');
  const place = placeSql(axis, x.type, column);
  return `select ${place} as p${values} from ${relation.sql} where ${withinSql(axis, x.type, column, range)}`;
}

function valueSql(relation: Relation, { index, type }: Field): string {
  return finiteSql(type, relation.column(index));
}

function aggregateSql(aggregate: Aggregate, value: string): string {
  return `${FUNCTIONS[aggregate]}(${value})`;
}
