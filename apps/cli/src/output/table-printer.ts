import { cutText, textWidth, visibleText } from '../text/display-text.ts';
import type { Output } from './output.ts';

/** A column of a printed table. */
export interface TableColumn {
  readonly name: string;
  /** Shown below the name. If no column has a type, the table has no line of types. */
  readonly type?: string;
  /** Numbers are right-aligned and never cut. */
  readonly isNumeric: boolean;
}

/** A value as text; null if it is missing. */
export type Cell = string | null;

/** Prints rows as an aligned table. */
export interface TablePrinter {
  add(rows: Iterable<readonly Cell[]>): Promise<void>;
  /** Prints the buffered rows, and the head if there was no row. */
  end(): Promise<void>;
}

const GAP = '  ';
/** Rows are aligned in blocks, so that a table of any length takes little memory. */
const BLOCK_ROWS = 1000;
const BLOCK_CHARACTERS = 4 * 1024 * 1024;
/** No column is cut below this width. */
const MIN_CUT_WIDTH = 8;

/** Creates a printer of one table. Only on a terminal, wide values are cut so that a row fits on a line. */
export function createTablePrinter(columns: readonly TableColumn[], output: Output): TablePrinter {
  let natural = columns.map(({ name, type = '' }) => Math.max(textWidth(visibleText(name)), textWidth(type)));
  let block: (readonly string[])[] = [];
  let blockCharacters = 0;
  let hasHead = false;
  const dim = (text: string): string => (output.isStyled ? `\u001b[2m${text}\u001b[22m` : text);

  async function flush(): Promise<void> {
    natural = natural.map((width, i) =>
      block.reduce((widest, row) => Math.max(widest, textWidth(row[i] ?? '')), width),
    );
    const widths = output.width === undefined ? natural : fitWidths(natural, columns, output.width);
    const lines = block.map((row) =>
      formatRow(row, widths, (text, padded) => (text === 'null' ? dim(padded) : padded)),
    );
    if (!hasHead) lines.unshift(...formatHead(widths));
    hasHead = true;
    block = [];
    blockCharacters = 0;
    if (lines.length > 0) await output.write(`${lines.join('\n')}\n`);
  }

  function formatHead(widths: readonly number[]): readonly string[] {
    if (columns.length === 0) return [];
    const names = columns.map(({ name }) => visibleText(name));
    const types = columns.map(({ type = '' }) => visibleText(type));
    const rules = widths.map((width) => '─'.repeat(width));
    return [
      formatRow(names, widths),
      ...(types.some((type) => type !== '') ? [dim(formatRow(types, widths))] : []),
      dim(formatRow(rules, widths)),
    ];
  }

  function formatRow(
    texts: readonly string[],
    widths: readonly number[],
    style = (_text: string, padded: string): string => padded,
  ): string {
    return texts
      .map((text, i) => {
        const cut = output.width === undefined ? text : cutText(text, widths[i] ?? 0);
        const padding = ' '.repeat(Math.max(0, (widths[i] ?? 0) - textWidth(cut)));
        if (columns[i]?.isNumeric) return style(text, padding + cut);
        return style(text, i === texts.length - 1 ? cut : cut + padding);
      })
      .join(GAP);
  }

  return {
    async add(rows) {
      for (const row of rows) {
        const texts = row.map((cell) => cellText(cell, output.width));
        block.push(texts);
        blockCharacters += texts.reduce((sum, text) => sum + text.length, 0);
        if (block.length >= BLOCK_ROWS || blockCharacters >= BLOCK_CHARACTERS) await flush();
      }
    },
    async end() {
      if (block.length > 0 || !hasHead) await flush();
    },
  };
}

/** A null is `null`; the string "null" is quoted so that the two differ. */
function cellText(cell: Cell, width: number | undefined): string {
  if (cell === null) return 'null';
  if (cell === 'null') return '"null"';
  // Measuring text takes longer than printing it, and only the beginning of a long text is shown.
  return visibleText(width !== undefined && cell.length > 8 * width ? `${cell.slice(0, 8 * width)}…` : cell);
}

/** Narrows the widest columns until a row fits, or none can be cut further. */
function fitWidths(natural: readonly number[], columns: readonly TableColumn[], lineWidth: number): readonly number[] {
  const available = lineWidth - GAP.length * (columns.length - 1);
  const capped = (cap: number): readonly number[] =>
    natural.map((width, i) => (columns[i]?.isNumeric ? width : Math.min(width, cap)));
  let cap = Math.max(lineWidth, MIN_CUT_WIDTH);
  while (cap > MIN_CUT_WIDTH && capped(cap).reduce((sum, width) => sum + width, 0) > available) cap -= 1;
  return capped(cap);
}
