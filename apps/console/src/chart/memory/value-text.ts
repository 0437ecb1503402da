import type { MemoryRows } from '../../rows/memory-rows.ts';
import { type Axis, axisOf, type Place } from '../axis.ts';
import type { Field } from '../chart-reader.ts';
import { placeFromText } from '../place-text.ts';

/** Returns the function that reads the exact text of a column's value; null for null, NaN and infinity. */
export function textReader(rows: MemoryRows, { index, type }: Field): (row: number) => string | null {
  const axis = axisOf(type);
  if (!axis || axis.kind === 'time') return (row) => rows.text(row, index);
  return (row) => {
    const text = rows.text(row, index);
    return text === null || !Number.isFinite(Number(text)) ? null : text;
  };
}

/** Returns the function that reads the place of a column's value; undefined if it has none. */
export function placeReader(rows: MemoryRows, field: Field, axis: Axis): (row: number) => Place | undefined {
  const textOf = textReader(rows, field);
  return (row) => {
    const number = rows.number?.(row, field.index);
    return isPlace(axis, number) ? number : placeFromText(axis, textOf(row));
  };
}

/** Whether a number of a column is its place; else its text has to be read. */
export function isPlace(axis: Axis, number: Place | undefined): number is Place {
  return axis.kind === 'real' ? typeof number === 'number' && Number.isFinite(number) : typeof number === 'bigint';
}
