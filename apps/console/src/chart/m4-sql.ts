import { quotedText } from '../state/quote-name.ts';
import { type Axis, distance, type Range, unitOf } from './axis.ts';
import { finiteSql, literal, placeSql, type Relation, withinSql } from './relation.ts';

/** The columns of a line chart in SQL. */
export interface LineColumns {
  readonly relation: Relation;
  readonly axis: Axis;
  readonly x: { readonly index: number; readonly type: string };
  readonly y: readonly { readonly index: number; readonly type: string }[];
  /** The column that splits the line, and the values that are drawn; null is a value, too. */
  readonly by?: { readonly index: number; readonly values: readonly (string | null)[] };
}

/** How many values a column of pixels has for each series: four places and four values. */
export const VALUES_PER_SERIES = 8;

/** Returns the SQL for the first and the last place, and the number of rows that have one. */
export function extentSql({ relation, axis, x }: Pick<LineColumns, 'relation' | 'axis' | 'x'>): string {
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

/** Returns the SQL for the most frequent values of a column, and the number of rows and of values. */
export function seriesSql(relation: Relation, index: number, most: number): string {
  const column = relation.column(index);
  return (
    `select cast(${column} as varchar) as s, count(*) as n, count(*) over () ` +
    `from ${relation.sql} group by s order by n desc, s nulls last limit ${most}`
  );
}

function pointsSql(columns: LineColumns, range: Range): string {
  const { relation, axis, x } = columns;
  return pointsWhere(columns, withinSql(axis, x.type, relation.column(x.index), range));
}

function pointsWhere({ relation, axis, x, y, by }: LineColumns, condition: string): string {
  const place = placeSql(axis, x.type, relation.column(x.index));
  const values = y.map(({ index, type }, i) => `${finiteSql(type, relation.column(index))} as v${i}`);
  const series = by ? seriesNumberSql(`cast(${relation.column(by.index)} as varchar)`, by.values) : '0';
  const points = `select ${place} as p, ${series} as s, ${values.join(', ')} from ${relation.sql} where ${condition}`;
  return by ? `select * from (${points}) where s is not null` : points;
}

/** Returns the SQL for the number of a row's series; null for values that are not drawn. */
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
