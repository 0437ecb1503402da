/**
 * The SQL statements that change frames. Imports nothing of Arrow, so that a client can parse a statement at no cost.
 *
 * ```ts
 * import { parseUpdate } from '@svc/frames/statements';
 *
 * parseUpdate('DROP TABLE IF EXISTS trades'); // { kind: 'drop', handle: 'trades', isOptional: true }
 * parseUpdate('SELECT 1'); // undefined
 * ```
 */
export { CATALOG, checkPlace, SCHEMA, TABLE_TYPE } from './catalogue-names.ts';
export { UPDATES_HINT } from './statement-text.ts';
export {
  beginsUpdate,
  type CreateStatement,
  type DropStatement,
  type InsertStatement,
  parseUpdate,
  type RenameStatement,
  type UpdateStatement,
} from './update-statement.ts';
