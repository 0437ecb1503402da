import type { DuckType } from '../../wire/duck-type.ts';
import { SqlRefusal } from './sql-refusal.ts';
import type { SqlResponses } from '../../wire/sql-requests.ts';

/** The columns of an answer. */
export type Columns = SqlResponses['prepare']['columns'];

/** What the server has to hold of a row at once. */
export const MAX_ROW_BYTES = 64 * 1024 * 1024;
/** So many columns, with those inside of others, has an answer at the most. */
const MAX_COLUMNS = 10_000;

/** Refuses an answer of too many columns, those inside of others counted too: the server makes something of each. */
export function checkColumnCount(count: number): void {
  if (count <= MAX_COLUMNS) return;
  throw new SqlRefusal({
    code: 'invalid_sql',
    message: `The answer would have ${count} columns, where ${MAX_COLUMNS} are allowed.`,
    hint: 'Name the columns that are needed.',
  });
}

/** Columns, if they are not too many. */
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

/** A row takes more than the server holds at once. */
export function rowTooLarge(): SqlRefusal {
  return new SqlRefusal({
    code: 'invalid_sql',
    message: `A row of the answer takes more than ${MAX_ROW_BYTES / 1024 ** 2} MiB.`,
    hint: 'Ask for parts of long texts and lists.',
  });
}
