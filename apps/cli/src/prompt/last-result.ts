import type { PrintResultOptions } from '../output/print-result.ts';
import type { Series } from './chart.ts';

/** The numbers of the last result. */
export interface LastResult {
  readonly series: readonly Series[];
  /** Whether the result had more rows than are kept. */
  readonly isCut: boolean;
}

/** Collects the numbers of a result while it is printed. */
export interface ResultKeeper {
  readonly onRows: NonNullable<PrintResultOptions['onRows']>;
  result(): LastResult;
}

/** The maximum rows that are kept: a chart shows no more, and a result may have any length. */
export const MAX_ROWS = 100_000;

/** Creates a keeper for one result. */
export function createResultKeeper(): ResultKeeper {
  let columns: readonly { readonly index: number; readonly name: string; readonly values: number[] }[] | undefined;
  let rows = 0;
  return {
    onRows(all, more) {
      columns ??= all.flatMap(({ name, isNumeric }, index) => (isNumeric ? [{ index, name, values: [] }] : []));
      const kept = more.slice(0, Math.max(0, MAX_ROWS - rows));
      for (const { index, values } of columns) for (const row of kept) values.push(Number(row[index] ?? NaN));
      rows += more.length;
    },
    result: () => ({ series: columns ?? [], isCut: rows > MAX_ROWS }),
  };
}
