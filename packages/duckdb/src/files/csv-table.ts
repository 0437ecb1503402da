import type { Field } from 'apache-arrow';
import type { CsvType, FloatChecks } from './csv-types.ts';

/** A column of a CSV file. */
export interface CsvColumn {
  /** The column of the frame. */
  readonly field: Field;
  readonly type: CsvType;
  /** The types that the column may have instead, if a value does not fit `type`; undefined if its type is declared. */
  readonly otherTypes?: readonly CsvType[];
}

/** How a CSV file is read as a table. */
export interface CsvTable {
  readonly delimiter: string;
  readonly header: boolean;
  readonly columns: readonly CsvColumn[];
  /** Whether all values are known to fit the types of their columns. */
  readonly isVerified: boolean;
  /** Whether a column of floats may have a -0. */
  readonly hasNegativeZero: boolean;
}

/** The name of a column in SQL: those of the frame may be the same but for their case. */
export function csvColumnName(index: number): string {
  return `c${index}`;
}

/** The error of a value that does not fit the type of its column. */
export const INEXACT = 'svc: a value of the CSV file does not fit its column';

/** SQL for the rows of a table, from SQL for its texts. A value that is not exact is the error `INEXACT`. */
export function typedRowsSql({ columns, isVerified, hasNegativeZero }: CsvTable, texts: string): string {
  const names = columns.map((_, i) => csvColumnName(i));
  if (isVerified) {
    const values = columns.map(({ type }, i) => `${type.valueOf(names[i] ?? '')} AS ${names[i]}`);
    return `SELECT ${values.join(', ')} FROM ${texts}`;
  }
  const checks: FloatChecks = { allowNegativeZero: hasNegativeZero };
  // A value is used twice, but computed once.
  const values = columns.map(({ type }, i) => `${names[i]}, ${type.valueOf(names[i] ?? '')} AS v${i}`);
  const guarded = columns.map(({ type }, i) => {
    const isExact = type.isExact(names[i] ?? '', `v${i}`, checks);
    if (isExact === 'true') return `v${i} AS ${names[i]}`;
    return `CASE WHEN ${names[i]} IS NULL THEN NULL WHEN ${isExact} THEN v${i} ELSE error('${INEXACT}') END AS ${names[i]}`;
  });
  return `SELECT ${guarded.join(', ')} FROM (SELECT ${values.join(', ')} FROM ${texts})`;
}
