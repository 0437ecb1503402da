import { quoted } from '@svc/errors/internal';
import { DataType, DateUnit, type Field } from 'apache-arrow';
import { childrenOf, typeOf } from '../arrow-types.ts';
import type { Loading } from './arrow/arrow-buffers.ts';
import { type ColumnData, isNullAt } from '../columns/column-data.ts';

/**
 * Refuses values that the schema does not allow, in a column, in its children, or in dictionary values: nulls where there
 * can be none, and date64 values that are not whole days. The children of a null row may contain anything. The dates of
 * a dictionary are checked when it is loaded.
 */
export function checkValues(field: Field, column: ColumnData, { dictionary, fault }: Loading): void {
  if (cannotBeNull(field) && column.nullCount > 0) {
    throw fault(`${column.nullCount} of its values are null, but the schema does not allow nulls`);
  }
  const suspect = suspectOf(field, column, dictionary);
  if (suspect === undefined) return;
  for (let row = 0; row < column.length; row++) {
    const found = findFault(suspect, row, row + 1);
    if (found?.millis !== undefined) {
      throw fault(`row ${row} has the date64 value ${found.millis}, which is not a whole day`, DATE_HINT);
    }
    if (found !== undefined) {
      throw fault(`row ${row} contains a null in ${quoted(found.name)}, but the schema does not allow nulls there`);
    }
  }
}

/** What to do about a date64 value that is not a whole day. */
export const DATE_HINT =
  'A date64 value is a multiple of 86400000 ms. Cast the column to date32, or to a timestamp in ms.';

/** A column with values that the schema does not allow, in it or in its children; perhaps only below null rows. */
interface Suspect {
  readonly field: Field;
  readonly isNull: (row: number) => boolean;
  /** The values of a date64 column. Undefined if all are whole days. */
  readonly dates: BigInt64Array | undefined;
  readonly children: readonly Suspect[];
  /** The start of a row's values in the children. */
  readonly startOf: (row: number) => number;
}

/** Returns undefined if no value can be wrong, as in nearly all columns. */
function suspectOf(field: Field, column: ColumnData, dictionary: Loading['dictionary']): Suspect | undefined {
  const type = typeOf(field);
  const fields = childrenOf(field);
  const children = (column.children ?? []).flatMap((child, i) => suspectOf(fields[i], child, dictionary) ?? []);
  const values = DataType.isDictionary(type) ? dictionary(type.id) : undefined;
  const hasNulls = column.nullCount > 0 || (values !== undefined && values.nullCount > 0);
  const dates = brokenDates(type, column);
  if (children.length === 0 && dates === undefined && !(cannotBeNull(field) && hasNulls)) return undefined;
  const isNull = (row: number): boolean =>
    isNullAt(column, row) || (values !== undefined && isNullAt(values, Number(column.values?.[row])));
  const { offsets } = column;
  const perRow = DataType.isFixedSizeList(type) ? type.listSize : 1;
  return { field, isNull, dates, children, startOf: (row) => (offsets ? Number(offsets[row]) : row * perRow) };
}

/** The first value that is not allowed: a date, or else a null in the field `name`. */
interface Fault {
  readonly name: string;
  readonly millis?: bigint;
}

/** Finds the first value that is not allowed, in a range of rows. */
function findFault(suspect: Suspect, from: number, to: number): Fault | undefined {
  const { field, isNull, dates, children, startOf } = suspect;
  for (let row = from; row < to; row++) {
    if (isNull(row)) {
      if (cannotBeNull(field)) return { name: field.name };
      continue;
    }
    const millis = dates?.[row];
    if (millis !== undefined && !isWholeDay(millis)) return { name: field.name, millis };
    for (const child of children) {
      const found = findFault(child, startOf(row), startOf(row + 1));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** The null type has only nulls, whatever the schema says. */
function cannotBeNull({ nullable, type }: Field): boolean {
  return !nullable && !DataType.isNull(DataType.isDictionary(type) ? type.dictionary : type);
}

/** Returns the values of a date64 column if one is not a whole day; perhaps only the unused value of a null. */
function brokenDates(type: DataType, { values }: ColumnData): BigInt64Array | undefined {
  if (!isDate64(type) || values === undefined) return undefined;
  const dates = new BigInt64Array(values.buffer, values.byteOffset, values.byteLength / 8);
  return areWholeDays(dates) ? undefined : dates;
}

/** True for the type of dates in milliseconds. */
export function isDate64(type: DataType): boolean {
  return DataType.isDate(type) && type.unit === DateUnit.MILLISECOND;
}

const DAY_NUMBER = 86_400_000;
const DAY_MS = BigInt(DAY_NUMBER);
/** The largest value and its negation mean infinity and -infinity. */
const INFINITY = 2n ** 63n - 1n;

/** Whether all values are allowed. Halves take a third of the time of a `bigint` for each value. */
export function areWholeDays(dates: BigInt64Array): boolean {
  const halves = [dates.buffer, dates.byteOffset, dates.length * 2] as const;
  const low = new Uint32Array(...halves);
  const high = new Int32Array(...halves);
  for (let row = 0; row < dates.length; row++) {
    const millis = (high[2 * row + 1] ?? 0) * 2 ** 32 + (low[2 * row] ?? 0);
    const isWhole = Number.isSafeInteger(millis)
      ? Math.round(millis / DAY_NUMBER) * DAY_NUMBER === millis
      : isWholeDay(dates[row] ?? 0n);
    if (!isWhole) return false;
  }
  return true;
}

/** Whether a date64 value is allowed. */
export function isWholeDay(millis: bigint): boolean {
  return millis % DAY_MS === 0n || millis === INFINITY || millis === -INFINITY;
}
