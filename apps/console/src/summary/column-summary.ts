import type { Group } from '../chart/chart-reader.ts';
import type { SmallHistogram } from './summary-sql.ts';

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
