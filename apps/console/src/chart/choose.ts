import type { ColumnInfo } from '../api/api.ts';
import type { ChartChoice } from '../state/tabs.ts';
import { axisOf, isNumber, isTime } from './axis.ts';
import type { Field } from './chart-reader.ts';

/** The most columns of a chart: there are as many colours. */
export const MAX_SERIES = 6;

const LABEL_TYPES = new Set(['STRING', 'SYMBOL', 'BOOLEAN', 'UUID', 'DATE', 'TIME']);

/** True if a column can be the x axis of a kind of chart. */
export function canBeX(kind: ChartChoice['kind'], { type }: ColumnInfo): boolean {
  if (kind === 'histogram') return false;
  if (kind === 'bar') return LABEL_TYPES.has(type) || axisOf(type) !== undefined;
  return axisOf(type) !== undefined;
}

/** True if a column can be drawn by a kind of chart. */
export function canBeY(kind: ChartChoice['kind'], { type }: ColumnInfo): boolean {
  return kind === 'histogram' ? axisOf(type) !== undefined : isNumber(type);
}

/** True if a column's values can split a line. */
export function canSplit({ type }: ColumnInfo): boolean {
  return ['STRING', 'SYMBOL', 'BOOLEAN', 'BYTE', 'SHORT', 'INT', 'LONG', 'UUID'].includes(type);
}

/** Returns a chart of the columns; undefined if none of them can be drawn. */
export function defaultChoice(columns: readonly ColumnInfo[]): ChartChoice | undefined {
  const time = columns.find(({ type }) => isTime(type));
  const label = columns.find(({ type }) => type === 'STRING' || type === 'SYMBOL');
  const numbers = columns.filter(({ type }) => isNumber(type));
  // Whole numbers before the first with a fraction are often ids.
  const value = numbers.find(({ type }) => !isWholeType(type)) ?? numbers[0];
  if (time && value) return { kind: 'line', x: time.name, y: [value.name] };
  if (label && value) return { kind: 'bar', x: label.name, y: [value.name] };
  const [first, second] = numbers;
  if (first && second) return { kind: 'line', x: first.name, y: [second.name] };
  const single = first ?? time;
  if (single) return { kind: 'histogram', y: [single.name] };
  const any = columns.find((column) => canBeX('bar', column));
  return any && { kind: 'bar', x: any.name, y: [] };
}

function isWholeType(type: string): boolean {
  return ['BYTE', 'SHORT', 'INT', 'LONG', 'ULONG', 'LONG128'].includes(type);
}

/** Returns the choice with another kind: fitting columns are kept, the others are chosen again. */
export function withKind(choice: ChartChoice, kind: ChartChoice['kind'], columns: readonly ColumnInfo[]): ChartChoice {
  const fits = (name: string | undefined, test: (column: ColumnInfo) => boolean): boolean =>
    columns.some((column) => column.name === name && test(column));
  const y = choice.y.filter((name) => fits(name, (column) => canBeY(kind, column)));
  const others = columns.filter((column) => canBeY(kind, column) && column.name !== choice.x);
  const drawn = y.length > 0 || kind === 'bar' ? y : others.slice(0, 1).map(({ name }) => name);
  if (kind === 'histogram') return { kind, y: drawn.slice(0, 1) };
  const time = columns.find(({ type }) => isTime(type)) ?? columns.find((column) => canBeX(kind, column));
  const x = fits(choice.x, (column) => canBeX(kind, column)) ? choice.x : time?.name;
  const ohlc = kind === 'ohlc' ? ohlcColumns(columns, drawn) : drawn.filter((name) => name !== x);
  return { kind, y: ohlc, ...(x !== undefined && { x }) };
}

/** Returns the columns named open, high, low and close, if there are all four; else one column. */
function ohlcColumns(columns: readonly ColumnInfo[], y: readonly string[]): readonly string[] {
  const named = ['open', 'high', 'low', 'close'].map((name) =>
    columns.find((column) => column.name.toLowerCase() === name && canBeY('ohlc', column)),
  );
  const names = named.flatMap((column) => (column ? [column.name] : []));
  return names.length === 4 ? names : y.slice(0, 1);
}

/** The columns of a choice. */
export interface ChosenColumns {
  readonly x: Field | undefined;
  readonly y: readonly Field[];
  readonly by: Field | undefined;
}

/** Returns the columns of a choice, or a sentence saying why it cannot be drawn. */
export function chosenColumns(choice: ChartChoice, columns: readonly ColumnInfo[]): ChosenColumns | string {
  const fieldOf = (name: string): Field | undefined => {
    const index = columns.findIndex((column) => column.name === name);
    const column = columns[index];
    return column && { index, ...column };
  };
  const names = [
    ...(choice.x === undefined ? [] : [choice.x]),
    ...choice.y,
    ...(choice.by === undefined ? [] : [choice.by]),
  ];
  const missing = names.find((name) => !fieldOf(name));
  if (missing !== undefined) return `There is no column "${missing}" any more. Choose others.`;
  const x = choice.x === undefined ? undefined : fieldOf(choice.x);
  const y = choice.y.slice(0, MAX_SERIES).flatMap((name) => fieldOf(name) ?? []);
  const by = choice.by === undefined ? undefined : fieldOf(choice.by);
  if (choice.kind !== 'histogram' && (!x || !canBeX(choice.kind, x))) return 'Choose a column for the x axis.';
  if (y.some((column) => !canBeY(choice.kind, column))) return 'Choose columns with numbers.';
  if (y.length === 0 && choice.kind !== 'bar') return 'Choose a column to draw.';
  if (choice.kind === 'ohlc' && y.length !== 1 && y.length !== 4) {
    return 'Choose one column, or four: open, high, low and close.';
  }
  return { x, y, by };
}
