import { quoted } from '@svc/errors';
import { DataType, type Field } from 'apache-arrow';
import type { Loading } from './arrow/arrow-buffers.ts';
import { type ColumnData, isNullAt } from '../columns/column-data.ts';

/**
 * Refuses nulls where the schema says that there are none: in the column itself, in what is nested in it, or in the values
 * of a dictionary. Below a row that is null itself there may be anything.
 */
export function checkNulls(field: Field, column: ColumnData, { dictionary, fault }: Loading): void {
  if (cannotBeNull(field) && column.nullCount > 0) {
    throw fault(`${column.nullCount} of its values are null, but the schema says that none is`);
  }
  const suspect = suspectOf(field, column, dictionary);
  if (suspect === undefined) return;
  for (let row = 0; row < column.length; row++) {
    const found = findNull(suspect, row, row + 1);
    if (found !== undefined) {
      throw fault(`row ${row} contains a null in ${quoted(found)}, but the schema says that none is there`);
    }
  }
}

/** A column that has nulls where it must not, or one nested in it has; perhaps only below rows that are null. */
interface Suspect {
  readonly field: Field;
  readonly isNull: (row: number) => boolean;
  readonly children: readonly Suspect[];
  /** Where the values of a row begin in the children. */
  readonly startOf: (row: number) => number;
}

/** Undefined where nothing can be wrong, as in nearly all columns. */
function suspectOf(field: Field, column: ColumnData, dictionary: Loading['dictionary']): Suspect | undefined {
  const { type }: { readonly type: DataType } = field;
  const fields: readonly Field[] = type.children ?? [];
  const children = (column.children ?? []).flatMap((child, i) => suspectOf(fields[i], child, dictionary) ?? []);
  const values = DataType.isDictionary(type) ? dictionary(type.id) : undefined;
  const hasNulls = column.nullCount > 0 || (values !== undefined && values.nullCount > 0);
  if (children.length === 0 && !(cannotBeNull(field) && hasNulls)) return undefined;
  const isNull = (row: number): boolean =>
    isNullAt(column, row) || (values !== undefined && isNullAt(values, Number(column.values?.[row])));
  const { offsets } = column;
  const perRow = DataType.isFixedSizeList(type) ? type.listSize : 1;
  return { field, isNull, children, startOf: (row) => (offsets ? Number(offsets[row]) : row * perRow) };
}

/** The name of the first field that is null among some rows of a column, and must not be. */
function findNull(suspect: Suspect, from: number, to: number): string | undefined {
  const { field, isNull, children, startOf } = suspect;
  for (let row = from; row < to; row++) {
    if (isNull(row)) {
      if (cannotBeNull(field)) return field.name;
      continue;
    }
    for (const child of children) {
      const found = findNull(child, startOf(row), startOf(row + 1));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** Of the type null there are only nulls, whatever the schema says. */
function cannotBeNull({ nullable, type }: Field): boolean {
  return !nullable && !DataType.isNull(DataType.isDictionary(type) ? type.dictionary : type);
}
