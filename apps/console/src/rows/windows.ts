import type { ColumnInfo } from '../api/types.ts';
import type { CellRange } from './row-source.ts';

const GROUP_COLUMNS = 32;
/** The rows and columns of a window, by level: a window with too many bytes is loaded again as smaller ones. */
const LEVELS: readonly (readonly [rows: number, columns: number])[] = [
  [512, GROUP_COLUMNS],
  [64, GROUP_COLUMNS],
  [8, GROUP_COLUMNS],
  [1, GROUP_COLUMNS],
  [1, 1],
];

/** Columns that are loaded together. */
export interface ColumnGroup {
  readonly first: number;
  readonly last: number;
  /** Its Arrow data could not be decoded: it is read as JSON. */
  isJson: boolean;
}

/** A rectangle of cells that is loaded with one request. */
export interface Window {
  readonly key: string;
  readonly level: number;
  readonly firstRow: number;
  readonly lastRow: number;
  readonly group: ColumnGroup;
}

/** How the cells of a frame are divided into windows. */
export interface WindowPlan {
  /** The window of a cell. */
  windowAt(row: number, column: number): Window;
  /** The windows of a range, from its first row on. */
  windowsOf(range: CellRange): readonly Window[];
  /** Loads the cells of this window in smaller ones from now on; false if it is the smallest. */
  split(window: Window): boolean;
}

/** Divides `rows` rows; no window has more than `maxRows`. */
export function createWindowPlan(columns: readonly ColumnInfo[], rows: number, maxRows: number | null): WindowPlan {
  const levels = LEVELS.filter(([count]) => maxRows === null || count <= maxRows);
  const groups = new Map<number, ColumnGroup>();
  const divided = new Set<string>();
  let firstLevel = 0;

  function windowAt(row: number, column: number): Window {
    for (let level = firstLevel; ; level += 1) {
      const [size, width] = levels[level] ?? [1, 1];
      const number = Math.floor(row / size);
      const first = column - (column % width);
      const key = `${level}:${number}:${first}`;
      if (divided.has(key)) continue;
      const group = groupAt(first, width);
      return { key, level, group, firstRow: number * size, lastRow: Math.min(rows, (number + 1) * size) - 1 };
    }
  }

  function groupAt(first: number, width: number): ColumnGroup {
    const key = first * 2 * GROUP_COLUMNS + width;
    const group = groups.get(key) ?? { first, last: Math.min(columns.length, first + width) - 1, isJson: false };
    groups.set(key, group);
    return group;
  }

  return {
    windowAt,
    windowsOf({ firstRow, lastRow, firstColumn, lastColumn }) {
      const found: Window[] = [];
      const end = Math.min(lastColumn, columns.length - 1);
      for (let column = Math.max(0, firstColumn); column <= end;) {
        const last = Math.min(end, column - (column % GROUP_COLUMNS) + GROUP_COLUMNS - 1);
        for (let row = Math.max(0, firstRow); row <= Math.min(lastRow, rows - 1);) {
          let window = windowAt(row, column);
          found.push(window);
          // The columns of a long row are windows of their own.
          while (window.group.last < last) {
            window = windowAt(row, window.group.last + 1);
            found.push(window);
          }
          row = window.lastRow + 1;
        }
        column = last + 1;
      }
      return found;
    },
    split(window) {
      if (window.level >= levels.length - 1) return false;
      divided.add(window.key);
      // The rest of the frame has probably rows of this length, too.
      firstLevel = Math.max(firstLevel, Math.min(window.level + 1, 2));
      return true;
    },
  };
}
