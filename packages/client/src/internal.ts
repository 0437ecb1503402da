/**
 * The parts of the client that the command line and the console use: requests, and tables that arrive. They know no Arrow.
 *
 * ```ts
 * import { createJsonTableReader } from '@svc/client/internal';
 *
 * const reader = createJsonTableReader();
 * for await (const chunk of body) show(reader.columns, reader.push(chunk));
 * ```
 */
export { ClientError } from './http/client-error.ts';
export type { ClientResponse } from './http/request.ts';
export { createTransport } from './http/transport.ts';
export { isNumericType } from './json/column-types.ts';
export { stringOf } from './json/cell-values.ts';
export { createJsonTableReader, type JsonTableReader } from './json/json-table-reader.ts';
export { shown, TableError } from './json/table-error.ts';
export type { Column } from './json/table-types.ts';
