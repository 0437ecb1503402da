import { effect, untracked } from '@preact/signals';
import type { CellRange, RowSource } from '../rows/row-source.ts';
import { formatCount } from '../state/format.ts';

/** A copy has at most this many cells, and this many characters. */
const MAX_COPIED_CELLS = 200_000;
const MAX_COPIED_CHARACTERS = 64 * 1024 * 1024;
const HINT = 'Select fewer, or download all rows.';

/**
 * Returns a range as tab-separated values, loading what is not there. Spreadsheets read it: texts with tabs, line breaks or
 * quotes are quoted, and null is empty.
 */
export async function rangeAsTsv(
  source: RowSource,
  range: CellRange,
  { withHeads }: { readonly withHeads: boolean },
): Promise<string> {
  const columns = range.lastColumn - range.firstColumn + 1;
  if ((range.lastRow - range.firstRow + 1) * columns > MAX_COPIED_CELLS) {
    throw new RangeError(`A copy has at most ${formatCount(MAX_COPIED_CELLS)} cells. ${HINT}`);
  }
  const heads = source.columns.slice(range.firstColumn, range.lastColumn + 1).map(({ name }) => quoted(name));
  const lines = withHeads ? [heads.join('\t')] : [];
  let characters = 0;
  for (let row = range.firstRow; row <= range.lastRow; row += 1) {
    await loaded(source, { ...range, firstRow: row, lastRow: Math.min(range.lastRow, row + STEP_ROWS) });
    const cells: string[] = [];
    for (let column = range.firstColumn; column <= range.lastColumn; column += 1) {
      cells.push(await cellText(source, row, column));
    }
    const line = cells.join('\t');
    characters += line.length + 1;
    if (characters > MAX_COPIED_CHARACTERS) {
      throw new RangeError(`A copy has at most ${formatCount(MAX_COPIED_CHARACTERS)} characters. ${HINT}`);
    }
    lines.push(line);
  }
  return lines.join('\n');
}

const STEP_ROWS = 511;

async function cellText(source: RowSource, row: number, column: number): Promise<string> {
  const cell = source.cell(row, column);
  if (cell?.look === 'null') return '';
  if (cell?.look === 'value' && PLAIN.test(cell.text)) return cell.text;
  return quoted(await source.wholeText(row, column));
}

/** Texts that are the same in the grid and in the clipboard. */
const PLAIN = /^[\x20\x21\x23-\x7e]*$/;

const quoted = (text: string): string => (/[\t\r\n"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Waits until the first row of a range is loaded. */
async function loaded(source: RowSource, range: CellRange): Promise<void> {
  const isThere = (): boolean => {
    for (let column = range.firstColumn; column <= range.lastColumn; column += 1) {
      if (source.cell(range.firstRow, column) === undefined) return false;
    }
    return true;
  };
  if (isThere()) return;
  let stop: (() => void) | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      stop = effect(() => {
        const [, isOutdated, failure] = [source.revision.value, source.isOutdated.value, source.failure.value];
        if (isThere()) resolve();
        else if (isOutdated) reject(new Error('The frame has been replaced. Load the newer version, and copy again.'));
        else if (failure !== undefined) reject(failure);
        // Again after each arrival: the grid wants other rows when it is scrolled, and the last wish counts.
        else untracked(() => source.want(range));
      });
    });
  } finally {
    stop?.();
  }
}
