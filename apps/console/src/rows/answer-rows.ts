import { signal } from '@preact/signals';
import type { ColumnInfo } from '../api/api.ts';
import type { AnswerBatch, AnswerEnd } from '../api/sql-stream.ts';
import { blockFromJson, blockFromTable, type CellBlock } from './cell-block.ts';
import type { MemoryRows, RowSource } from './row-source.ts';

/** The rows of an answer, in memory. They can be read while more arrive. */
export interface AnswerRows extends RowSource, MemoryRows {
  readonly rowCount: RowSource['rowCount'];
  append(batch: AnswerBatch): void;
  /** The answer has ended: no more rows come. */
  end(state: AnswerEnd): void;
  /** How the answer ended; undefined while rows arrive. */
  readonly ended: { readonly value: AnswerEnd | undefined };
}

/** Creates the rows of an answer before they arrive. */
export function createAnswerRows(columns: readonly ColumnInfo[]): AnswerRows {
  const blocks: CellBlock[] = [];
  const starts: number[] = [];
  const rowCount = signal(0);
  const revision = signal(0);
  const ended = signal<AnswerEnd | undefined>(undefined);

  /** Returns the block of a row, and its number there. */
  function find(row: number): readonly [CellBlock, number] | undefined {
    if (row < 0 || row >= rowCount.peek()) return undefined;
    let low = 0;
    let high = blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= row) low = middle;
      else high = middle - 1;
    }
    const block = blocks[low];
    return block && [block, row - (starts[low] ?? 0)];
  }

  return {
    columns,
    rowCount,
    revision,
    ended,
    failure: signal(undefined),
    isOutdated: signal(false),
    append(batch) {
      const block = batch.kind === 'arrow' ? blockFromTable(batch.table, 0) : blockFromJson(batch.rows, 0);
      const rows = Math.min(block.rows, batch.rowCount);
      if (rows === 0) return;
      blocks.push(block);
      starts.push(rowCount.peek());
      rowCount.value += rows;
      revision.value += 1;
    },
    end: (state) => (ended.value = state),
    cell(row, column) {
      const found = find(row);
      return found?.[0].cell(found[1], column);
    },
    text(row, column) {
      const found = find(row);
      return found === undefined ? null : found[0].text(found[1], column);
    },
    number(row, column) {
      const found = find(row);
      return found?.[0].number(found[1], column);
    },
    want: () => {},
    wholeText(row, column) {
      const found = find(row);
      return found === undefined
        ? Promise.reject(new RangeError(`The answer has no row ${row + 1}.`))
        : Promise.resolve(found[0].text(found[1], column) ?? 'null');
    },
    retry: () => {},
    close: () => {},
  };
}
