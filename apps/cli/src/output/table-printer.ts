import type { Output } from './output.ts';
import { cutText, formatCount, textWidth, visibleText } from '../text.ts';

/** A column of a printed table. */
export interface TableColumn {
  readonly name: string;
  /** Shown below the name. If no column has a type, the table has no line of types. */
  readonly type?: string;
  /** Numbers are right-aligned and never cut. */
  readonly isNumeric: boolean;
  /** Other values are never cut either, such as times and handles. Default: no. */
  readonly isWhole?: boolean;
}

/** A value as text; null if it is missing. */
export type Cell = string | null;

/** Prints rows as an aligned table. */
export interface TablePrinter {
  add(rows: Iterable<readonly Cell[]>): Promise<void>;
  /** Prints the buffered rows, and the head if there was no row; says if columns were left out. */
  end(): Promise<void>;
}

/** Options of a table. */
export interface TablePrinterOptions {
  /** How to see the columns left out: `use --csv`. */
  readonly more: string;
}

/** Rows are aligned in blocks: a table of any length takes little memory. */
const BLOCK_ROWS = 1000;
const BLOCK_CHARACTERS = 4 * 1024 * 1024;
/** No text and no name is cut below this width; rather, columns are left out. */
const MIN_CUT_WIDTH = 12;

/**
 * Creates a printer of one table. Only on a terminal, columns in the middle are left out and long texts cut to fit a
 * row on a line.
 */
export function createTablePrinter(
  columns: readonly TableColumn[],
  output: Output,
  { more }: TablePrinterOptions,
): TablePrinter {
  const names = columns.map(({ name }) => textWidth(visibleText(name)));
  let values = columns.map(({ type = '' }) => textWidth(visibleText(type)));
  let block: (readonly string[])[] = [];
  let blockCharacters = 0;
  let last: FittedColumns | undefined;
  const dim = (text: string): string => (output.isStyled ? `\u001b[2m${text}\u001b[22m` : text);

  async function flush(): Promise<void> {
    values = values.map((width, i) => block.reduce((widest, row) => Math.max(widest, textWidth(row[i] ?? '')), width));
    const widths = columns.map((column, i) => columnWidth(column, names[i] ?? 0, values[i] ?? 0));
    const fitted = output.width === undefined ? unfitted(widths) : fitColumns(widths, output.width);
    const format = (texts: readonly string[], style?: CellStyle): string => formatRow(texts, columns, fitted, style);
    const lines = block.map((row) => format(row, (text, padded) => (text === 'null' ? dim(padded) : padded)));
    // Again if other columns are left out than before: a later value may be wider.
    if (last?.head !== fitted.head || last.tail !== fitted.tail) lines.unshift(...formatHead(columns, fitted, dim));
    last = fitted;
    block = [];
    blockCharacters = 0;
    if (lines.length > 0) await output.write(`${lines.join('\n')}\n`);
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
      if (block.length > 0 || last === undefined) await flush();
      const hidden = last === undefined ? 0 : columns.length - last.head - last.tail;
      if (hidden > 0) await output.write(`${formatCount(hidden, 'column')} not shown; ${more}\n`);
    },
  };
}

function columnWidth({ isNumeric, isWhole = false }: TableColumn, name: number, value: number): ColumnWidth {
  const isCuttable = !isNumeric && !isWhole;
  const least = Math.max(isCuttable ? Math.min(value, MIN_CUT_WIDTH) : value, Math.min(name, MIN_CUT_WIDTH));
  return { natural: Math.max(name, value), least, isCuttable };
}

function unfitted(widths: readonly ColumnWidth[]): FittedColumns {
  return { head: widths.length, tail: 0, widths: widths.map(({ natural }) => natural) };
}

type CellStyle = (text: string, padded: string) => string;

function formatHead(
  columns: readonly TableColumn[],
  fitted: FittedColumns,
  dim: (text: string) => string,
): readonly string[] {
  if (columns.length === 0) return [];
  const names = columns.map(({ name }) => visibleText(name));
  const types = columns.map(({ type = '' }) => visibleText(type));
  const rules = fitted.widths.map((width) => '─'.repeat(width));
  return [
    formatRow(names, columns, fitted),
    ...(types.some((type) => type !== '') ? [dim(formatRow(types, columns, fitted))] : []),
    dim(joinCells(rules, columns.length, fitted, '─')),
  ];
}

function formatRow(
  texts: readonly string[],
  columns: readonly TableColumn[],
  fitted: FittedColumns,
  style: CellStyle = (_, padded) => padded,
): string {
  const { head, tail, widths } = fitted;
  const cells = widths.map((width, place) => {
    const i = place < head ? place : columns.length - tail + place - head;
    const text = texts[i] ?? '';
    const cut = cutText(text, width);
    const padding = ' '.repeat(Math.max(0, width - textWidth(cut)));
    if (columns[i]?.isNumeric) return style(text, padding + cut);
    return style(text, i === columns.length - 1 ? cut : cut + padding);
  });
  return joinCells(cells, columns.length, fitted, MARKER);
}

/** Joins the cells of a line, with a marker for the columns left out. */
function joinCells(cells: readonly string[], count: number, { head, tail }: FittedColumns, marker: string): string {
  const all = head + tail < count ? cells.toSpliced(head, 0, marker) : cells;
  return all.join(GAP);
}

/** A null is `null`; the string "null" is quoted. */
export function cellText(cell: Cell, width: number | undefined): string {
  if (cell === null) return 'null';
  if (cell === 'null') return '"null"';
  // Measuring text takes longer than printing it, and only the beginning of a long text is shown.
  return visibleText(width !== undefined && cell.length > 8 * width ? `${cell.slice(0, 8 * width)}…` : cell);
}

/** What a table needs to know of a column to fit it into a line. */
export interface ColumnWidth {
  /** The width of the widest text. */
  readonly natural: number;
  /** Below this width the column is left out rather than cut. At most `natural`. */
  readonly least: number;
  /** The column may be cut below `least` if it is the only one left. */
  readonly isCuttable: boolean;
}

/** The columns of a line: some from the left, and some from the right. */
export interface FittedColumns {
  /** The number of columns from the left. */
  readonly head: number;
  /** The number of columns from the right. */
  readonly tail: number;
  /** The width of each of them. */
  readonly widths: readonly number[];
}

/** The gap between two columns. */
const GAP = '  ';
/** Stands for the columns left out. */
const MARKER = '…';

/** Leaves out columns in the middle until the others fit into a line, then narrows the widest of these. */
function fitColumns(columns: readonly ColumnWidth[], lineWidth: number): FittedColumns {
  const count = columns.length;
  const before = sums(columns);
  const needed = (shown: number): number => {
    const tail = Math.floor(shown / 2);
    const least = (before[shown - tail] ?? 0) + (before[count] ?? 0) - (before[count - tail] ?? 0);
    return least + GAP.length * (shown - 1) + markerWidth(shown);
  };
  const markerWidth = (shown: number): number => (shown < count ? GAP.length + MARKER.length : 0);
  let shown = count;
  while (shown > 1 && needed(shown) > lineWidth) shown -= 1;
  const tail = Math.floor(shown / 2);
  const kept = [...columns.slice(0, shown - tail), ...columns.slice(count - tail)];
  const available = lineWidth - GAP.length * (shown - 1) - markerWidth(shown);
  return { head: shown - tail, tail, widths: narrow(kept, available) };
}

/** The sum of the least widths before each column, and of all at the end. */
function sums(columns: readonly ColumnWidth[]): readonly number[] {
  const before = [0];
  for (const { least } of columns) before.push((before.at(-1) ?? 0) + least);
  return before;
}

function narrow(columns: readonly ColumnWidth[], available: number): readonly number[] {
  const [only] = columns;
  if (columns.length === 1 && only?.isCuttable) return [Math.max(1, Math.min(only.natural, available))];
  const capped = (cap: number): readonly number[] =>
    columns.map(({ natural, least }) => Math.max(least, Math.min(natural, cap)));
  let cap = Math.max(1, available);
  while (cap > 1 && capped(cap).reduce((sum, width) => sum + width, 0) > available) cap -= 1;
  return capped(cap);
}
