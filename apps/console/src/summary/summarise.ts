import type { ColumnInfo } from '../api/types.ts';
import { axisOf, widened } from '../chart/axis.ts';
import { bucketsOf, wholeBuckets } from '../chart/bucket.ts';
import type { ChartReader, Field } from '../chart/chart-reader.ts';
import type { ChartSource } from '../chart/chart-source.ts';
import { relationOf } from '../chart/relation.ts';
import { createSlices } from '../chart/memory/slices.ts';
import { type Ask, createSqlReader } from '../chart/sql-reader.ts';
import type { ColumnSummary } from './column-summary.ts';
import { summariseRows } from './memory-summary.ts';
import { figuresSql, hasHistogram, MAX_BINS, TOP_VALUES, valuesSql } from './summary-sql.ts';

/** How a column is summarised. */
export interface SummaryRequest {
  readonly ask: Ask;
  /** Only the first rows are read. */
  readonly isCut?: boolean;
  readonly signal?: AbortSignal;
}

/** Summarises a column of a source by SQL, or of rows in memory. Throws what `ask` throws. */
export async function summarise(
  source: ChartSource,
  index: number,
  { ask, isCut = false, signal }: SummaryRequest,
): Promise<ColumnSummary> {
  const column: ColumnInfo = source.columns[index] ?? { name: '', type: '' };
  const field: Field = { index, ...column };
  if (source.rows) return summariseRows(source.rows, field, createSlices(signal));
  const values = valuesSql(relationOf(source), field, isCut);
  const [row = []] = (await ask(figuresSql(values, field))).rows;
  const figures = {
    rows: Number(row[0]),
    nulls: Number(row[1]),
    distinct: Number(row[2]),
    min: textOf(row[3]),
    max: textOf(row[4]),
    mean: textOf(row[5]),
    notFinite: Number(row[6]),
  };
  const reader = createSqlReader({ ...source, from: values, columns: [{ ...column, name: 'v' }] }, ask);
  return { ...figures, ...(await pictureOf(reader, { ...field, index: 0, name: 'v' }, figures.distinct)) };
}

async function pictureOf(
  reader: ChartReader,
  field: Field,
  distinct: number,
): Promise<Pick<ColumnSummary, 'histogram' | 'top'>> {
  const axis = axisOf(field.type);
  if (!axis || !hasHistogram(field, distinct)) {
    const { groups } = await reader.bars(field, { y: [], aggregate: 'sum' }, TOP_VALUES);
    return { histogram: undefined, top: groups };
  }
  const extent = await reader.extent(field);
  if (!extent) return { histogram: undefined, top: [] };
  const bucket = bucketsOf(axis, widened(axis, extent.range), MAX_BINS);
  const range = wholeBuckets(bucket, extent.range);
  const groups = await reader.buckets(field, { y: [], aggregate: 'sum' }, bucket, extent.range);
  const first = bucket.of(extent.range.lo);
  const counts = Array.from({ length: bucket.of(extent.range.hi) - first + 1 }, () => 0);
  for (const { key, rows } of groups) counts[Number(key) - first] = rows;
  return { histogram: { axis, range, counts }, top: [] };
}

function textOf(value: unknown): string | null {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : null;
}
