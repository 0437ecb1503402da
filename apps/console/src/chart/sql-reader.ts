import type { AnswerTable } from '../api/statements.ts';
import { axisOrThrow, isFloat, placeFrom, textOf } from './axis.ts';
import {
  barSql,
  bucketSql,
  edgesSql,
  extentSql,
  figuresSql,
  m4Sql,
  type PlacedRelation,
  pointsInOrderSql,
  relationOf,
} from './chart-sql.ts';
import type { ChartReader, ChartSource, Field } from './chart-reader.ts';

/** Runs a statement of a chart. */
export type Ask = (sql: string) => Promise<AnswerTable>;

/** Creates a reader by SQL. Throws what `ask` throws. */
export function createSqlReader(source: ChartSource, ask: Ask): ChartReader {
  const relation = relationOf(source);
  const placed = (x: Field): PlacedRelation => ({ relation, axis: axisOrThrow(x), x });
  const rowsOf = async (sql: string): Promise<AnswerTable['rows']> => (await ask(sql)).rows;
  return {
    async figures(field) {
      const [[rows, nulls, distinct, min, max, mean, notFinite] = []] = await rowsOf(figuresSql(relation, field));
      const counts = {
        rows: Number(rows),
        nulls: Number(nulls),
        distinct: Number(distinct),
        notFinite: Number(notFinite),
      };
      return { ...counts, min: figureText(min), max: figureText(max), mean: figureText(mean) };
    },
    async extent(x) {
      const columns = placed(x);
      const [row = []] = await rowsOf(extentSql(columns));
      const lo = placeFrom(columns.axis, row[0]);
      const hi = placeFrom(columns.axis, row[1]);
      return lo === undefined || hi === undefined ? undefined : { range: { lo, hi }, rows: Number(row[2]) };
    },
    line({ x, y, by }) {
      const columns = { ...placed(x), y, by };
      return {
        pixels: (range, width, margin) => rowsOf(m4Sql(columns, range, width, margin)),
        points: (margin, limit) => rowsOf(pointsInOrderSql(columns, margin, limit)),
        edges: (margin) => rowsOf(edgesSql(columns, margin)),
      };
    },
    async bars(field, values, most, maxLabel) {
      const rows = await rowsOf(barSql(relation, field, { values, most, maxLabel }));
      const groups = rows.map(([key, n, , ...numbers]) => ({
        key: isFloat(field.type) ? floatText(textOf(key)) : textOf(key),
        rows: Number(n),
        values: numbers.map(textOf),
      }));
      return { groups, total: Number(rows[0]?.[2] ?? 0) };
    },
    async buckets(x, values, bucket, range) {
      const rows = await rowsOf(bucketSql(placed(x), values, bucket, range));
      return rows.map(([key, n, ...numbers]) => ({ key: Number(key), rows: Number(n), values: numbers.map(textOf) }));
    },
  };
}

function figureText(value: unknown): string | null {
  return typeof value === 'boolean' ? String(value) : textOf(value);
}

const NOT_FINITE: Readonly<Record<string, string>> = { nan: 'NaN', inf: 'Infinity', '-inf': '-Infinity' };

/** Returns the text of a float as the grid has it; the engine writes `1.0` and `inf`. */
function floatText(text: string | null): string | null {
  return text === null ? null : (NOT_FINITE[text] ?? String(Number(text)));
}
