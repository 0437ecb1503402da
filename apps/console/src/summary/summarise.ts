import type { ColumnInfo } from '../api/types.ts';
import { type Axis, axisOf, type Place, widened } from '../chart/axis.ts';
import { bucketsOf, wholeBuckets } from '../chart/bucket.ts';
import type { ChartReader, Field, Group } from '../chart/chart-reader.ts';
import type { ChartSource } from '../chart/chart-source.ts';
import { createMemoryReader, meanOf, placeFromText, valueText } from '../chart/memory-reader.ts';
import { relationOf } from '../chart/relation.ts';
import { type Ask, createSqlReader } from '../chart/sql-reader.ts';
import type { RowSource } from '../rows/row-source.ts';
import { figuresSql, hasHistogram, MAX_BINS, type SmallHistogram, TOP_VALUES, valuesSql } from './summary-sql.ts';

/** What is known of a column. */
export interface ColumnSummary {
  readonly rows: number;
  readonly nulls: number;
  readonly distinct: number;
  /** The exact texts; null if there are none. */
  readonly min: string | null;
  readonly max: string | null;
  readonly mean: string | null;
  /** Values that are NaN or infinite; they are in no other figure but the number of rows and of different values. */
  readonly notFinite: number;
  readonly histogram: SmallHistogram | undefined;
  /** The most frequent values; empty if there is a histogram. */
  readonly top: readonly Group[];
}

/** Summarises a column of a source by SQL, or of rows in memory. Throws what `ask` throws. */
export async function summarise(source: ChartSource, index: number, isCut: boolean, ask: Ask): Promise<ColumnSummary> {
  const column: ColumnInfo = source.columns[index] ?? { name: '', type: '' };
  const field: Field = { index, ...column };
  if (source.rows) {
    const figures = memoryFigures(source.rows, field);
    return { ...figures, ...(await pictureOf(createMemoryReader(source.rows), field, figures.distinct)) };
  }
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

type Figures = Omit<ColumnSummary, 'histogram' | 'top'>;

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

function memoryFigures(rows: RowSource, field: Field): Figures {
  const axis = axisOf(field.type);
  const count = rows.rowCount.peek();
  const texts = new Set<string>();
  let nulls = 0;
  let notFinite = 0;
  let sum: Place = axis?.kind === 'whole' ? 0n : 0;
  let numbers = 0;
  let min: string | null = null;
  let max: string | null = null;
  for (let row = 0; row < count; row += 1) {
    const cell = rows.cell(row, field.index);
    if (!cell || cell.look === 'null') {
      nulls += 1;
      continue;
    }
    const text = valueText(rows, row, field);
    texts.add(text ?? cell.text);
    if (text === null) {
      notFinite += 1;
      continue;
    }
    if (min === null || isBelow(axis, text, min)) min = text;
    if (max === null || isBelow(axis, max, text)) max = text;
    const place = axis && placeFromText(axis, text);
    if (place === undefined) continue;
    sum = typeof sum === 'bigint' ? sum + BigInt(place) : sum + Number(place);
    numbers += 1;
  }
  const mean = numbers > 0 && axis?.kind !== 'time' ? meanText(axis, sum, numbers) : null;
  return { rows: count, nulls, distinct: texts.size, min, max, mean, notFinite };
}

function meanText(axis: Axis | undefined, sum: Place, count: number): string {
  if (typeof sum === 'bigint') return String(meanOf(sum, count, axis?.kind === 'whole' ? axis.scale : 0));
  return String(sum / count);
}

function isBelow(axis: Axis | undefined, one: string, other: string): boolean {
  const a = axis && placeFromText(axis, one);
  const b = axis && placeFromText(axis, other);
  return a === undefined || b === undefined ? one < other : a < b;
}
