import { quoted } from '@svc/errors/internal';
import { DataType, type Field } from 'apache-arrow';
import { childrenOf, typeOf } from '../arrow-types.ts';
import type { Loading } from './arrow/arrow-buffers.ts';
import { type ColumnData, isNullAt } from '../columns/column-data.ts';

/**
 * Refuses nulls that the schema does not allow: in a column, in its children, or in dictionary values. The children of
 * a null row may contain anything.
 */
export function checkNulls(field: Field, column: ColumnData, { dictionary, fault }: Loading): void {
  if (cannotBeNull(field) && column.nullCount > 0) {
    throw fault(`${column.nullCount} of its values are null, but the schema does not allow nulls`);
  }
  const suspect = suspectOf(field, column, dictionary);
  if (suspect === undefined) return;
  for (let row = 0; row < column.length; row++) {
    const found = findNull(suspect, row, row + 1);
    if (found !== undefined) {
      throw fault(`row ${row} contains a null in ${quoted(found)}, but the schema does not allow nulls there`);
    }
  }
}

/** A column with nulls that the schema does not allow, in it or in its children; perhaps only below null rows. */
interface Suspect {
  readonly field: Field;
  readonly isNull: (row: number) => boolean;
  readonly children: readonly Suspect[];
  /** The start of a row's values in the children. */
  readonly startOf: (row: number) => number;
}

/** Returns undefined if no null can be wrong, as in nearly all columns. */
function suspectOf(field: Field, column: ColumnData, dictionary: Loading['dictionary']): Suspect | undefined {
  const type = typeOf(field);
  const fields = childrenOf(field);
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

/** Returns the name of the first field with a null that is not allowed, in a range of rows. */
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

/** The null type has only nulls, whatever the schema says. */
function cannotBeNull({ nullable, type }: Field): boolean {
  return !nullable && !DataType.isNull(DataType.isDictionary(type) ? type.dictionary : type);
}
