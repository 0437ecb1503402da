import type { Field } from 'apache-arrow';
import type { CsvType, FloatChecks } from './csv-types.ts';

/** A column of a CSV file. */
export interface CsvColumn {
  /** The column of the frame. */
  readonly field: Field;
  readonly type: CsvType;
  /** The types that the column may have instead, if a value does not fit `type`; undefined if its type is declared. */
  readonly otherTypes?: readonly CsvType[];
  /** Whether all values are known to fit `type`. */
  readonly isVerified: boolean;
  /** Whether a value may be -0, if `type` is a float. */
  readonly hasNegativeZero: boolean;
}

/** How a CSV file is read as a table. */
export interface CsvTable {
  readonly delimiter: string;
  readonly header: boolean;
  /** The number of empty lines before the first line. */
  readonly skip: number;
  readonly columns: readonly CsvColumn[];
}

/** The name of a column in SQL: those of the frame may be the same but for their case. */
export function csvColumnName(index: number): string {
  return `c${index}`;
}

const INEXACT = 'svc: a value of the CSV file does not fit column';

/** Returns the index of the column that a value did not fit, from the message of the error; undefined for other errors. */
export function inexactColumn(message: string): number | undefined {
  const index = new RegExp(`^[A-Z][\\w ]* Error: ${INEXACT} (\\d+)$`).exec(message)?.[1];
  return index === undefined ? undefined : Number(index);
}

/** Whether a value of a table may be -0. */
export function mayHaveNegativeZero({ columns }: CsvTable): boolean {
  return columns.some(({ hasNegativeZero }) => hasNegativeZero);
}

/** SQL for the rows of a table, from SQL for its texts. A value that is not exact is an error of its column. */
export function typedRowsSql(table: CsvTable, texts: string): string {
  const { columns } = table;
  const names = columns.map((_, i) => csvColumnName(i));
  const checks: FloatChecks = { allowNegativeZero: mayHaveNegativeZero(table) };
  // A value is used twice, but computed once.
  const values = columns.map(({ type }, i) => `${names[i]}, ${type.valueOf(names[i] ?? '')} AS v${i}`);
  const guarded = columns.map(({ type, isVerified }, i) => {
    const isExact = isVerified ? 'true' : type.isExact(names[i] ?? '', `v${i}`, checks);
    if (isExact === 'true') return `v${i} AS ${names[i]}`;
    return `CASE WHEN ${names[i]} IS NULL THEN NULL WHEN ${isExact} THEN v${i} ELSE error('${INEXACT} ${i}') END AS ${names[i]}`;
  });
  return `SELECT ${guarded.join(', ')} FROM (SELECT ${values.join(', ')} FROM ${texts})`;
}
