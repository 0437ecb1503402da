/**
 * The parts of the client that the command line and the console use: requests, each with or without repetition, and tables
 * that arrive. They know no Arrow.
 *
 * ```ts
 * import { createJsonTableReader } from '@svc/client/internal';
 *
 * const { body } = await fetch('http://localhost:9000/exec?handle=trades&fmt=json');
 * const reader = createJsonTableReader();
 * for await (const chunk of body ?? []) console.log(reader.columns, reader.push(chunk));
 * ```
 */
export { frameRequest } from './frame-request.ts';
export { describeFrame, dropFrame, setFrameTtl } from './frames.ts';
export { keepRequest, writeRequest, writtenFrame } from './frame-writes.ts';
export { ClientError, cutOff, errorFromText } from './http/client-error.ts';
export { readJson } from './http/read-json.ts';
export type { ClientResponse, SingleRequest, Transport } from './http/request.ts';
export { addressOf, errorOf, isAccepted, sendOnce, type Target } from './http/send-once.ts';
export { createTransport } from './http/transport.ts';
export { uniqueId } from './http/unique-id.ts';
export { isNumericType } from './json/column-types.ts';
export { stringOf } from './json/cell-values.ts';
export { createJsonTableReader, type JsonTableReader } from './json/json-table-reader.ts';
export { shown, TableError } from './json/table-error.ts';
export type { Column } from './json/table-types.ts';
export { queryRequest } from './query-request.ts';
export { cancelQuery, listRunning } from './running-queries.ts';
export { streamOf } from './stream-of.ts';
export type { EngineName, FrameInfo, ListedFrame, RunningQuery, ServerInfo } from './types.ts';
