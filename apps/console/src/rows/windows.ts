import type { ColumnInfo } from '../api/types.ts';
import type { CellRange } from './row-source.ts';

/** The rows of a window, by level: a window with too many bytes is loaded again as smaller ones. */
const LEVEL_ROWS: readonly number[] = [512, 64, 8, 1];
const GROUP_COLUMNS = 32;

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
  const levels = LEVEL_ROWS.filter((count) => maxRows === null || count <= maxRows);
  const groups = columnGroups(columns);
  const divided = new Set<string>();
  let firstLevel = 0;

  function windowAt(row: number, column: number): Window {
    const index = Math.floor(column / GROUP_COLUMNS);
    for (let level = firstLevel; ; level += 1) {
      const size = levels[level] ?? 1;
      const number = Math.floor(row / size);
      const key = `${level}:${number}:${index}`;
      if (divided.has(key)) continue;
      const group = groups[index];
      if (group === undefined) throw new RangeError(`There is no column ${column}.`);
      return { key, level, group, firstRow: number * size, lastRow: Math.min(rows, (number + 1) * size) - 1 };
    }
  }

  return {
    windowAt,
    windowsOf({ firstRow, lastRow, firstColumn, lastColumn }) {
      const found: Window[] = [];
      if (columns.length === 0) return found;
      for (let column = Math.max(0, firstColumn); column <= Math.min(lastColumn, columns.length - 1);) {
        let last = column;
        for (let row = Math.max(0, firstRow); row <= Math.min(lastRow, rows - 1);) {
          const window = windowAt(row, column);
          found.push(window);
          row = window.lastRow + 1;
          ({ last } = window.group);
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

function columnGroups(columns: readonly ColumnInfo[]): readonly ColumnGroup[] {
  const count = Math.ceil(columns.length / GROUP_COLUMNS);
  return Array.from({ length: count }, (_, i) => {
    const first = i * GROUP_COLUMNS;
    return { first, last: Math.min(columns.length, first + GROUP_COLUMNS) - 1, isJson: false };
  });
}
