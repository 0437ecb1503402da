/**
 * The parts of the client that need no connection, for the command line and the console.
 *
 * ```ts
 * import { createJsonTableReader } from '@svc/client/internal';
 *
 * const reader = createJsonTableReader();
 * for await (const chunk of body) show(reader.columns, reader.push(chunk));
 * ```
 */
export { isNumericType } from './json/column-types.ts';
export { stringOf } from './json/cell-values.ts';
export { createJsonTableReader, type JsonTableReader } from './json/json-table-reader.ts';
export { shown, TableError } from './json/table-error.ts';
export type { Column } from './json/table-types.ts';
