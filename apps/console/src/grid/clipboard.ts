import type { CellRange, RowSource } from '../rows/row-source.ts';

/** A copy has at most this many cells, and this many characters. */
const MAX_COPIED_CELLS = 200_000;
const MAX_COPIED_CHARACTERS = 64 * 1024 * 1024;

/** A range is too large for the clipboard. */
class TooMuchToCopy extends Error {
  override readonly name = 'TooMuchToCopy';
}

/**
 * Returns a range as tab-separated values, loading what is not there. Spreadsheets read it: texts with tabs, line breaks or
 * quotes are quoted, and null is empty.
 */
export async function rangeAsTsv(
  source: RowSource,
  range: CellRange,
  { withHeads, signal }: { readonly withHeads: boolean; readonly signal?: AbortSignal },
): Promise<string> {
  const columns = range.lastColumn - range.firstColumn + 1;
  if ((range.lastRow - range.firstRow + 1) * columns > MAX_COPIED_CELLS) {
    throw new TooMuchToCopy(
      `A copy has at most ${MAX_COPIED_CELLS.toLocaleString('en')} cells. Select fewer, or download the frame.`,
    );
  }
  const heads = source.columns.slice(range.firstColumn, range.lastColumn + 1).map(({ name }) => quoted(name));
  const lines = withHeads ? [heads.join('\t')] : [];
  let characters = 0;
  for (let row = range.firstRow; row <= range.lastRow; row += 1) {
    await loaded(source, { ...range, firstRow: row, lastRow: Math.min(range.lastRow, row + STEP_ROWS) }, signal);
    const cells: string[] = [];
    for (let column = range.firstColumn; column <= range.lastColumn; column += 1) {
      cells.push(await cellText(source, row, column, signal));
    }
    const line = cells.join('\t');
    characters += line.length + 1;
    if (characters > MAX_COPIED_CHARACTERS) throw new TooMuchToCopy('The selected texts have more than 64 MB.');
    lines.push(line);
  }
  return lines.join('\n');
}

const STEP_ROWS = 511;

async function cellText(source: RowSource, row: number, column: number, signal?: AbortSignal): Promise<string> {
  const cell = source.cell(row, column);
  if (cell?.look === 'null') return '';
  if (cell?.look === 'value' && PLAIN.test(cell.text)) return cell.text;
  return quoted(await source.wholeText(row, column, signal));
}

/** Texts that are the same in the grid and in the clipboard. */
const PLAIN = /^[\x20\x21\x23-\x7e]*$/;

const quoted = (text: string): string => (/[\t\r\n"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Waits until the first row of a range is loaded. */
async function loaded(source: RowSource, range: CellRange, signal?: AbortSignal): Promise<void> {
  const isThere = (): boolean => {
    for (let column = range.firstColumn; column <= range.lastColumn; column += 1) {
      if (source.cell(range.firstRow, column) === undefined) return false;
    }
    return true;
  };
  if (isThere()) return;
  await new Promise<void>((resolve, reject) => {
    let stop: (() => void) | undefined;
    const end = (finish: () => void): void => {
      stopped = true;
      stop?.();
      stopFailure?.();
      signal?.removeEventListener('abort', abort);
      finish();
    };
    const abort = (): void => end(() => reject(signal?.reason));
    let stopped = false;
    let stopFailure: (() => void) | undefined;
    signal?.addEventListener('abort', abort);
    source.want(range);
    stop = source.revision.subscribe(() => {
      if (!stopped && isThere()) end(resolve);
    });
    stopFailure = source.failure.subscribe((error) => {
      if (!stopped && error !== undefined) end(() => reject(error));
    });
    if (stopped) {
      stop();
      stopFailure();
    }
  });
}
