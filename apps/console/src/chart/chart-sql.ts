import { foldedName, quotedName, quotedText } from '../state/quote-name.ts';
import { type Axis, axisOf, distance, isFloat, type Place, type Range, type TimeAxis, unitOf } from './axis.ts';
import type { ChartSource, Field, GroupValue, LineFields } from './chart-reader.ts';

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

/** Returns the SQL of the place of a column's value on its axis, in units; null for values without one. */
function placeSql(axis: Axis, type: string, column: string): string {
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

/** Returns the SQL of a column's value, null for NaN and infinity. */
function finiteSql(type: string, column: string): string {
  return isFloat(type) ? `case when isfinite(${column}) then ${column} end` : column;
}

/** Returns the SQL condition for rows in a range. The engine can skip parts of a file by it. */
function withinSql(axis: Axis, type: string, column: string, range: Range): string {
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

/** The first and the last time of the engine, in units. */
const FIRST_TIME = { us: -9_223_372_022_400_000_000n, ns: -9_223_286_400_000_000_000n };
const LAST_TIME = 2n ** 63n - 2n;

/** Returns the nearest time of the engine: a bucket may start before the first one, and end after the last. */
function inReach({ unit }: TimeAxis, place: Place): Place {
  if (place < FIRST_TIME[unit]) return FIRST_TIME[unit];
  return place > LAST_TIME ? LAST_TIME : place;
}

/** Returns a place as SQL. */
function literal(place: Place): string {
  return typeof place === 'bigint' ? String(place) : `${place.toExponential()}::double`;
}

/** A relation whose rows have places on an axis. */
export interface PlacedRelation {
  readonly relation: Relation;
  readonly axis: Axis;
  readonly x: SqlColumn;
}

type SqlColumn = Pick<Field, 'index' | 'type'>;

/** The columns of a line chart in SQL. */
export interface LineColumns extends PlacedRelation {
  readonly y: readonly SqlColumn[];
  readonly by?: LineFields['by'] | undefined;
}

/** How many values a column of pixels has for each series: four places and four values. */
export const VALUES_PER_SERIES = 8;

/** Returns the SQL for the first and the last place, and the number of rows with a place. */
export function extentSql({ relation, axis, x }: PlacedRelation): string {
  const place = placeSql(axis, x.type, relation.column(x.index));
  return `select min(p), max(p), count(p) from (select ${place} as p from ${relation.sql})`;
}

/**
 * Returns the SQL for what a line shows of a range that is `width` pixels wide: of each column of pixels the number of
 * rows, the first place, and for each series the first, the lowest, the highest and the last point. A line through
 * these points covers the same pixels as a line through all (Jugel et al.: M4, VLDB 2014). Columns start at the start of
 * the range. The rows beside it, as far as `margin`, are part of the answer: lines enter and leave the range.
 */
export function m4Sql(columns: LineColumns, range: Range, width: number, margin: Range): string {
  const values = columns.y.flatMap((_, i) => [
    `min(p) filter (v${i} is not null)`,
    `arg_min(v${i}, p)`,
    `arg_min(p, v${i})`,
    `min(v${i})`,
    `arg_max(p, v${i})`,
    `max(v${i})`,
    `max(p) filter (v${i} is not null)`,
    `arg_max(v${i}, p)`,
  ]);
  return (
    `with points as (${pointsSql(columns, margin)}) ` +
    `select ${columnSql(columns.axis, range, width)} as c, s, count(*), min(p), ${values.join(', ')} ` +
    `from points where p is not null group by c, s order by c`
  );
}

/** Returns the SQL for all points of a range in their order: place, series, values. */
export function pointsInOrderSql(columns: LineColumns, margin: Range, limit: number): string {
  const values = columns.y.map((_, i) => `v${i}`);
  return (
    `with points as (${pointsSql(columns, margin)}) ` +
    `select p, s, ${values.join(', ')} from points where p is not null order by p limit ${limit}`
  );
}

/**
 * Returns the SQL for the nearest points outside of a range, if the rows beside it have none: the side (0 before, 1
 * after), the series, and for each series place and value.
 */
export function edgesSql(columns: LineColumns, margin: Range): string {
  const place = placeSql(columns.axis, columns.x.type, columns.relation.column(columns.x.index));
  const side = (name: 'max' | 'min'): string =>
    columns.y.map((_, i) => `${name}(p) filter (v${i} is not null), arg_${name}(v${i}, p)`).join(', ');
  const before = pointsWhere(columns, `${place} < ${literal(margin.lo)}`);
  const after = pointsWhere(columns, `${place} > ${literal(margin.hi)}`);
  return (
    `select 0 as side, s, ${side('max')} from (${before}) group by s ` +
    `union all select 1, s, ${side('min')} from (${after}) group by s`
  );
}

function pointsSql(columns: LineColumns, range: Range): string {
  const { relation, axis, x } = columns;
  return pointsWhere(columns, withinSql(axis, x.type, relation.column(x.index), range));
}

function pointsWhere({ relation, axis, x, y, by }: LineColumns, condition: string): string {
  const place = placeSql(axis, x.type, relation.column(x.index));
  const values = y.map(({ index, type }, i) => `${finiteSql(type, relation.column(index))} as v${i}`);
  const series = by ? seriesNumberSql(`cast(${relation.column(by.field.index)} as varchar)`, by.values) : '0';
  const points = `select ${place} as p, ${series} as s, ${values.join(', ')} from ${relation.sql} where ${condition}`;
  return by ? `select * from (${points}) where s is not null` : points;
}

/** Returns the SQL for the number of a row's series; null for the values of no series. */
function seriesNumberSql(value: string, values: readonly (string | null)[]): string {
  const cases = values.map((one, i) => `when ${value} ${one === null ? 'is null' : `= ${quotedText(one)}`} then ${i}`);
  return `case ${cases.join(' ')} end`;
}

/** Beyond this product 64 bits are not enough; wider numbers take several times as long. */
const MAX_PRODUCT = 2n ** 62n;

/** Returns the SQL for the column of pixels of a place: 0 at the start of the range, `width` at its end. */
function columnSql(axis: Axis, { lo, hi }: Range, width: number): string {
  if (axis.kind === 'real' || typeof lo === 'number' || typeof hi === 'number') {
    const unit = unitOf([Number(lo), Number(hi)]);
    const length = distance(Number(lo), Number(hi), unit);
    return `cast(floor((p / ${literal(unit)} - ${literal(Number(lo) / unit)}) / ${literal(length)} * ${width}) as bigint)`;
  }
  const length = hi - lo;
  const type = length * BigInt(width) * 4n < MAX_PRODUCT ? 'bigint' : 'hugeint';
  const pixels = `cast(p - ${lo} as ${type}) * ${width}`;
  // Division truncates, but columns before the range are rounded down.
  return `cast(case when p < ${lo} then (${pixels} - ${length - 1n}) // ${length} else ${pixels} // ${length} end as bigint)`;
}

const AGGREGATES: Readonly<Record<GroupValue['aggregate'], (value: string) => string>> = {
  sum: (value) => `sum(${value})`,
  mean: (value) => `avg(${value})`,
  min: (value) => `min(${value})`,
  max: (value) => `max(${value})`,
  first: (value) => `arg_min(${value}, p)`,
  last: (value) => `arg_max(${value}, p)`,
};

/** Returns the SQL for the bars of a column's values: value, rows, number of values, aggregates. */
export function barSql(
  relation: Relation,
  x: Field,
  { values, most, maxLabel }: { values: readonly GroupValue[]; most: number; maxLabel: number | undefined },
): string {
  const column = relation.column(x.index);
  const text = `cast(${column} as varchar)`;
  const aggregates = values.map(({ field, aggregate }, i) => {
    return `, ${AGGREGATES[aggregate](finiteSql(field.type, relation.column(field.index)))} as v${i}`;
  });
  const order = values.length > 0 ? 'v0 desc nulls last, n desc' : 'n desc';
  return (
    `select ${maxLabel === undefined ? text : `left(${text}, ${maxLabel})`} as k, count(*) as n, count(*) over ()` +
    `${aggregates.join('')} from ${relation.sql} group by ${column} order by ${order}, k nulls last limit ${most}`
  );
}

/** Returns the SQL for the rows of buckets: bucket, rows, aggregates. */
export function bucketSql(
  { relation, axis, x }: PlacedRelation,
  values: readonly GroupValue[],
  bucket: { readonly sql: string },
  range: Range,
): string {
  const aggregates = values.map(({ aggregate }, i) => `, ${AGGREGATES[aggregate](`v${i}`)}`).join('');
  const columns = values.map(({ field }, i) => `, ${finiteSql(field.type, relation.column(field.index))} as v${i}`);
  const column = relation.column(x.index);
  const points =
    `select ${placeSql(axis, x.type, column)} as p${columns.join('')} ` +
    `from ${relation.sql} where ${withinSql(axis, x.type, column, range)}`;
  return `select ${bucket.sql} as k, count(*)${aggregates} from (${points}) where p is not null group by k order by k`;
}

/** The most characters of a lowest or highest text. */
export const TEXT_LENGTH = 100;

const NESTED = new Set(['ARRAY', 'STRUCT', 'MAP', 'BINARY']);

/** True if the values of a type have a natural order. */
export function hasOrder(type: string): boolean {
  return !NESTED.has(type);
}

/**
 * Returns the SQL for the figures of a column: rows, nulls, different values, lowest, highest, mean, and the values that
 * are NaN or infinite, which the others leave out. Long texts are cut.
 */
export function figuresSql(relation: Relation, { index, type }: Field): string {
  const v = relation.column(index);
  const isText = type === 'STRING' || type === 'SYMBOL';
  const text = (sql: string): string => (isText ? `left(cast(${sql} as varchar), ${TEXT_LENGTH})` : sql);
  const finite = isFloat(type) ? ` filter (where isfinite(${v}))` : '';
  const axis = axisOf(type);
  // The sum of 128-bit numbers can be too large for 128 bits.
  const mean = axis && axis.kind !== 'time' ? `avg(${type === 'LONG128' ? `${v}::double` : v})${finite}` : 'null';
  const odd = isFloat(type) ? `count(*) filter (where ${v} is not null and not isfinite(${v}))` : '0';
  const extremes = hasOrder(type) ? `${text(`min(${v})${finite}`)}, ${text(`max(${v})${finite}`)}` : 'null, null';
  return `select count(*), count(*) - count(${v}), count(distinct ${v}), ${extremes}, ${mean}, ${odd} from ${relation.sql}`;
}
