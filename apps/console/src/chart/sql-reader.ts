import type { AnswerTable } from '../api/table.ts';
import { type Axis, axisOf, isFloat, placeFrom } from './axis.ts';
import { barSql, bucketSql, candleSql, rowCandleSql } from './bar-sql.ts';
import type { ChartReader, Field, LineRequest } from './chart-reader.ts';
import type { ChartSource } from './chart-source.ts';
import { readLine, textOf } from './line-reader.ts';
import { edgesSql, extentSql, type LineColumns, m4Sql, pointsInOrderSql, seriesSql } from './m4-sql.ts';
import { relationOf } from './relation.ts';

/** Runs a statement of a chart. */
export type Ask = (sql: string) => Promise<AnswerTable>;

/** The most candles that are rows. */
const MAX_ROW_CANDLES = 1000;

/** Creates a reader that runs SQL. Throws what `ask` throws. */
export function createSqlReader(source: ChartSource, ask: Ask): ChartReader {
  const relation = relationOf(source);
  const columnsOf = (x: Field): { relation: typeof relation; axis: Axis; x: Field } => ({
    relation,
    axis: axisOrThrow(x),
    x,
  });
  return {
    async extent(x) {
      const columns = columnsOf(x);
      const [row = []] = (await ask(extentSql(columns))).rows;
      const lo = placeFrom(columns.axis, row[0]);
      const hi = placeFrom(columns.axis, row[1]);
      return lo === undefined || hi === undefined ? undefined : { range: { lo, hi }, rows: Number(row[2]) };
    },
    line(request) {
      const columns: LineColumns = { ...columnsOf(request.x), y: request.y, ...byOf(request) };
      const { range, width } = request;
      return readLine(columns, request, {
        pixels: async (margin) => (await ask(m4Sql(columns, range, width, margin))).rows,
        points: async (margin, limit) => (await ask(pointsInOrderSql(columns, margin, limit))).rows,
        edges: async (margin) => (await ask(edgesSql(columns, margin))).rows,
      });
    },
    async top({ index }, most) {
      const { rows } = await ask(seriesSql(relation, index, most));
      const groups = rows.map(([key, n]) => ({ key: textOf(key), rows: Number(n), values: [] }));
      return { groups, total: Number(rows[0]?.[2] ?? 0) };
    },
    async bars(field, values, most) {
      const { rows } = await ask(barSql(relation, field, values, most));
      const groups = rows.map(([key, n, , ...numbers]) => ({
        key: isFloat(field.type) ? floatText(textOf(key)) : textOf(key),
        rows: Number(n),
        values: numbers.map(textOf),
      }));
      return { groups, total: Number(rows[0]?.[2] ?? 0) };
    },
    async buckets(x, values, bucket, range) {
      const { rows } = await ask(bucketSql(columnsOf(x), values, bucket, range));
      return rows.map(([key, n, ...numbers]) => ({ key: Number(key), rows: Number(n), values: numbers.map(textOf) }));
    },
    async candles(x, ohlc, bucket, range) {
      const columns = columnsOf(x);
      const { rows } = await ask(
        bucket ? candleSql(columns, ohlc, bucket, range) : rowCandleSql(columns, ohlc, range, MAX_ROW_CANDLES),
      );
      return rows.flatMap(([key, n, ...numbers]) => {
        const place = bucket ? bucket.start(Number(key)) : placeFrom(columns.axis, key);
        const values = numbers.map(textOf);
        const all = values.length === 1 ? [values, values, values, values].flat() : values;
        return place === undefined ? [] : [{ place, rows: Number(n), values: all }];
      });
    },
  };
}

const NOT_FINITE: Readonly<Record<string, string>> = { nan: 'NaN', inf: 'Infinity', '-inf': '-Infinity' };

/** Returns the text of a float as the grid has it; the engine writes `1.0` and `inf`. */
function floatText(text: string | null): string | null {
  return text === null ? null : (NOT_FINITE[text] ?? String(Number(text)));
}

function axisOrThrow({ name, type }: Field): Axis {
  const axis = axisOf(type);
  if (!axis) throw new Error(`The column "${name}" (${type}) has no places on an axis.`);
  return axis;
}

function byOf({ by }: LineRequest): Pick<LineColumns, 'by'> {
  return by ? { by: { index: by.field.index, values: by.values } } : {};
}
