/**
 * Texts of SQL, and the names of columns in them.
 *
 * ```ts
 * import { sqlNames } from '@svc/frames/sql';
 *
 * sqlNames(['p95', 'P95']); // ['p95_0', 'P95_1']
 * ```
 */
export { rowsToInsert } from '../insert/rows-to-insert.ts';
export {
  charactersBefore,
  charactersIn,
  checkSqlText,
  distinctNames,
  foldedName,
  sharedNames,
  sqlNames,
} from '../sql-names.ts';
