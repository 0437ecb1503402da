import { isNumericType } from '@svc/client/internal';
import type { ColumnInfo } from '../api/types.ts';
import type { Cell } from '../rows/row-source.ts';
import { clamp } from './scroll-map.ts';

const MIN_COLUMN_PX = 48;
const MAX_COLUMN_PX = 2000;
const MAX_FITTED_PX = 360;
const UNMEASURED_PX = 120;
/** The space left and right of a text. */
export const CELL_PADDING_PX = 8;

/** The widths of columns. A column has a default width until its first cells are there. */
export interface ColumnWidths {
  readonly totalPx: number;
  widthOf(column: number): number;
  /** The distance of a column from the first one. */
  leftOf(column: number): number;
  /** The column at a distance from the first one; the last one for all that are beyond it. */
  columnAt(px: number): number;
  isMeasured(column: number): boolean;
  /** Sets the width of a column from the widths of its texts. */
  fit(column: number, textPx: number): void;
  /** Widens a column for texts that came later, unless the user has chosen its width. */
  grow(column: number, textPx: number): void;
  resize(column: number, px: number): void;
  /** Makes all widths multiples of a length: of a character, so that the texts of a row can be painted at once. */
  setStep(px: number): void;
}

/** Creates the widths of some columns. */
export function createColumnWidths(count: number): ColumnWidths {
  const widths = new Float64Array(count).fill(UNMEASURED_PX);
  const lefts = new Float64Array(count + 1);
  const measured = new Uint8Array(count);
  const chosen = new Uint8Array(count);
  let dirtyFrom = 0;
  let step = 1;

  function update(): void {
    for (let i = dirtyFrom; i < count; i += 1) lefts[i + 1] = (lefts[i] ?? 0) + (widths[i] ?? 0);
    dirtyFrom = count;
  }

  function set(column: number, px: number): void {
    measured[column] = 1;
    if (widths[column] === px) return;
    widths[column] = px;
    dirtyFrom = Math.min(dirtyFrom, column);
  }

  const leftOf = (column: number): number => {
    update();
    return lefts[clamp(column, 0, count)] ?? 0;
  };
  return {
    get totalPx() {
      return leftOf(count);
    },
    leftOf,
    widthOf: (column) => widths[column] ?? 0,
    columnAt(px) {
      update();
      let low = 0;
      let high = Math.max(0, count - 1);
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if ((lefts[middle] ?? 0) <= px) low = middle;
        else high = middle - 1;
      }
      return low;
    },
    isMeasured: (column) => measured[column] === 1,
    fit: (column, textPx) => set(column, fittedPx(textPx, step)),
    grow(column, textPx) {
      const px = fittedPx(textPx, step);
      if (chosen[column] === 0 && px > (widths[column] ?? 0)) set(column, px);
    },
    resize(column, px) {
      chosen[column] = 1;
      set(column, Math.round(clamp(px, MIN_COLUMN_PX, MAX_COLUMN_PX) / step) * step);
    },
    setStep(px) {
      if (px === step) return;
      step = px;
      dirtyFrom = 0;
      for (const [column, width] of widths.entries()) widths[column] = Math.ceil(width / step) * step;
    },
  };
}

const fittedPx = (textPx: number, step: number): number =>
  Math.ceil(clamp(textPx + 2 * CELL_PADDING_PX + 2, MIN_COLUMN_PX, MAX_FITTED_PX) / step) * step;

/** Whether the values of a type stand at the right: numbers, whose digits should be below each other. */
export function isNumeric({ type }: ColumnInfo): boolean {
  return isNumericType(type);
}

/** The text after a value that is cut: how long the whole is. */
export function sizeText({ look, bytes }: Cell): string {
  if (look !== 'cut') return '';
  return bytes === undefined ? '\u2026' : `\u2026 ${formatBytes(bytes)}`;
}

/** Returns a size in bytes, kB, MB or GB with one decimal. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB'];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}
