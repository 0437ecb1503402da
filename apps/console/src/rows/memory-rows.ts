import type { ReadonlySignal } from '@preact/signals';

/** Rows that are all in memory, as charts and summaries read them. */
export interface MemoryRows {
  readonly rowCount: ReadonlySignal<number>;
  /** Returns the whole text of a value, without symbols; null for null. */
  text(row: number, column: number): string | null;
  /**
   * Returns a number or a time without the way over its text, which takes several times as long: floats as doubles, all else
   * as a whole number of the unit of its type, which is 10^-scale for decimals. Undefined if only the text has the value.
   */
  number?(row: number, column: number): number | bigint | undefined;
}
