/** What a table needs to know of a column to fit it into a line. */
export interface ColumnWidth {
  /** The width of the widest text. */
  readonly natural: number;
  /** The width below which the column is left out rather than cut. At most `natural`. */
  readonly least: number;
  /** Whether the column may be cut below `least` if it is the only one left. */
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
export const GAP = '  ';
/** The column that stands for those that are left out. */
export const MARKER = '…';

/** Leaves out columns in the middle until the others fit into a line, then narrows the widest of these. */
export function fitColumns(columns: readonly ColumnWidth[], lineWidth: number): FittedColumns {
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

/** The sum of the least widths before each column, and that of all at the end. */
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
