import { formatCount, visibleText } from '../text.ts';

/** A numeric column of a result. */
export interface Series {
  readonly name: string;
  /** NaN if the value is missing. */
  readonly values: readonly number[];
}

const HEIGHT = 10;
/** A cell has eight levels. */
const BLOCKS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const MIN_WIDTH = 10;

/** Draws a column as a filled line over its rows, the lowest value at the bottom. Rows in one cell are averaged. */
export function drawChart({ name, values }: Series, width: number): readonly string[] {
  const known = values.filter(Number.isFinite);
  const low = known.reduce((least, value) => Math.min(least, value), Infinity);
  const high = known.reduce((most, value) => Math.max(most, value), -Infinity);
  if (known.length === 0) return [`${visibleText(name)}: no numbers in ${formatCount(values.length, 'row')}`];
  const labels = Array.from({ length: HEIGHT }, (_, row) => {
    if (row === 0) return shortNumber(high);
    return row === HEIGHT - 1 ? shortNumber(low) : '';
  });
  const labelWidth = Math.max(...labels.map((label) => label.length));
  const plotWidth = Math.max(MIN_WIDTH, width - labelWidth - 3);
  const levels = averages(values, Math.min(plotWidth, values.length)).map((value) => levelOf(value, low, high));
  const rows = labels.map((label, row) => {
    const below = (HEIGHT - 1 - row) * (BLOCKS.length - 1);
    const cells = levels.map((level) => BLOCKS[Math.max(0, Math.min(BLOCKS.length - 1, level - below))] ?? ' ');
    return `${label.padStart(labelWidth)} │${cells.join('')}`.trimEnd();
  });
  const mean = known.reduce((sum, value) => sum + value / known.length, 0);
  const facts = `min ${shortNumber(low)}, max ${shortNumber(high)}, mean ${shortNumber(mean)}`;
  return [
    ...rows,
    `${' '.repeat(labelWidth)} └${'─'.repeat(levels.length)}`,
    `${visibleText(name)}: ${formatCount(values.length, 'row')}, ${facts}`,
  ];
}

/** Returns the mean at each of the places; NaN if there are no numbers. */
function averages(values: readonly number[], places: number): readonly number[] {
  return Array.from({ length: places }, (_, place) => {
    const from = Math.floor((place * values.length) / places);
    const to = Math.max(from + 1, Math.floor(((place + 1) * values.length) / places));
    const part = values.slice(from, to).filter(Number.isFinite);
    return part.reduce((sum, value) => sum + value / part.length, part.length === 0 ? NaN : 0);
  });
}

/** Returns the filled eighths from the bottom: at least one, to distinguish a value from a missing one. */
function levelOf(value: number, low: number, high: number): number {
  if (Number.isNaN(value)) return 0;
  const most = HEIGHT * (BLOCKS.length - 1);
  // Halved, because the range may exceed the largest number.
  const share = high === low ? 0.5 : (value / 2 - low / 2) / (high / 2 - low / 2);
  return Math.max(1, Math.round(share * most));
}

function shortNumber(value: number): string {
  return String(Number(value.toPrecision(6)));
}
