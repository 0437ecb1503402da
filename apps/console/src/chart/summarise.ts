import type { ColumnInfo } from '../api/api.ts';
import { type Axis, axisOf, type Range, widened } from './axis.ts';
import { bucketsOf, wholeBuckets } from './ticks.ts';
import type { ChartReader, ChartSource, Field, Figures, Group } from './chart-reader.ts';
import { relationOf } from './chart-sql.ts';
import { MAX_LABEL } from './load-chart.ts';
import { createMemoryReader, createSlices } from './memory-reader.ts';
import { type Ask, createSqlReader } from './sql-reader.ts';

/** Larger frames are summarised by their first rows: more would take minutes. */
export const MAX_ROWS = 5_000_000;
/** The number of these first rows. */
export const FIRST_ROWS = 1_000_000;
/** The bars of a small histogram. */
const MAX_BINS = 24;
/** The number of most frequent values. */
const TOP_VALUES = 5;

/** How a column is summarised. */
interface SummaryRequest {
  readonly ask: Ask;
  /** Only the first rows are read. */
  readonly isCut?: boolean;
  readonly signal?: AbortSignal;
}

/** The figures of a column, and a picture of its values: a histogram, or the most frequent values. */
export interface ColumnSummary extends Figures {
  readonly histogram: SmallHistogram | undefined;
  readonly top: readonly Group[];
}

/** The rows of each bar of a histogram, and the ends of the axis. */
export interface SmallHistogram {
  readonly axis: Axis;
  readonly range: Range;
  readonly counts: readonly number[];
}

/** Summarises a column of a source by SQL, or of rows in memory. Throws what `ask` throws. */
export async function summarise(source: ChartSource, index: number, request: SummaryRequest): Promise<ColumnSummary> {
  const column: ColumnInfo = source.columns[index] ?? { name: '', type: '' };
  const { reader, field } = columnReader(source, { index, ...column }, request);
  const figures = await reader.figures(field);
  const axis = axisOf(field.type);
  if (!axis || figures.distinct <= TOP_VALUES) {
    const { groups } = await reader.bars(field, [], TOP_VALUES, MAX_LABEL);
    return { ...figures, histogram: undefined, top: groups };
  }
  return { ...figures, histogram: await histogramOf(reader, field, axis), top: [] };
}

/** SQL reads a relation of the column alone, or of its first rows. */
function columnReader(
  source: ChartSource,
  field: Field,
  { ask, isCut = false, signal }: SummaryRequest,
): { readonly reader: ChartReader; readonly field: Field } {
  if (source.rows) return { reader: createMemoryReader(source.rows, createSlices(signal)), field };
  const relation = relationOf(source);
  const from = `(select ${relation.column(field.index)} as v from ${relation.sql}${isCut ? ` limit ${FIRST_ROWS}` : ''})`;
  const alone = { ...field, index: 0, name: 'v' };
  return { reader: createSqlReader({ ...source, from, columns: [alone] }, ask), field: alone };
}

async function histogramOf(reader: ChartReader, field: Field, axis: Axis): Promise<SmallHistogram | undefined> {
  const extent = await reader.extent(field);
  if (!extent) return undefined;
  const bucket = bucketsOf(axis, widened(axis, extent.range), MAX_BINS);
  const first = bucket.of(extent.range.lo);
  const counts = Array.from({ length: bucket.of(extent.range.hi) - first + 1 }, () => 0);
  for (const { key, rows } of await reader.buckets(field, [], bucket, extent.range)) counts[Number(key) - first] = rows;
  return { axis, range: wholeBuckets(bucket, extent.range), counts };
}
