/**
 * The SQL statements that change frames. Imports nothing of Arrow, so a client can parse a statement at no cost.
 *
 * ```ts
 * import { parseUpdate } from '@svc/frames/statements';
 *
 * await parseUpdate('DROP TABLE IF EXISTS trades'); // { kind: 'drop', handle: 'trades', isOptional: true }
 * await parseUpdate('SELECT 1'); // undefined
 * ```
 */
export {
  beginsUpdate,
  CATALOG,
  checkPlace,
  type CreateStatement,
  type DropStatement,
  type InsertStatement,
  parseUpdate,
  type RenameStatement,
  SCHEMA,
  TABLE_TYPE,
  UPDATES_HINT,
  type UpdateStatement,
} from './update-statement.ts';
