import type { DuckType } from '../../wire/duck-type.ts';
import { SqlRefusal } from './sql-refusal.ts';
import type { SqlResponses } from '../../wire/sql-requests.ts';

/** The columns of a result. */
export type Columns = SqlResponses['prepare']['columns'];

/** The limit of one row, which the server holds in memory. */
export const MAX_ROW_BYTES = 64 * 1024 * 1024;
/** The limit of columns in a result, including nested ones. */
const MAX_COLUMNS = 10_000;

/** Refuses a result with too many columns, including nested ones: the server allocates memory for each. */
export function checkColumnCount(count: number): void {
  if (count <= MAX_COLUMNS) return;
  throw new SqlRefusal({
    code: 'invalid_sql',
    message: `The result would have ${count} columns, but at most ${MAX_COLUMNS} are allowed.`,
    hint: 'Select only the columns you need.',
  });
}

/** Returns the columns, unless there are too many. */
export function limitedColumns(columns: Columns): Columns {
  checkColumnCount(columns.reduce((sum, { type }) => sum + countTypes(type), 0));
  return columns;
}

function countTypes(type: DuckType): number {
  if ('item' in type) return 1 + countTypes(type.item);
  if ('key' in type) return 1 + countTypes(type.key) + countTypes(type.value);
  if ('fields' in type) return type.fields.reduce((sum, field) => sum + countTypes(field.type), 1);
  return 1;
}

/** The error of a row that exceeds `MAX_ROW_BYTES`. */
export function rowTooLarge(): SqlRefusal {
  return new SqlRefusal({
    code: 'invalid_sql',
    message: `A row of the result is larger than ${MAX_ROW_BYTES / 1024 ** 2} MiB.`,
    hint: 'Select parts of long texts and lists.',
  });
}
