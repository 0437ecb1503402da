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
export { describeFrame, dropFrame, keepRequest, setFrameTtl, streamOf, writeRequest, writtenFrame } from './frames.ts';
export { ClientError, cutOff, errorFromText } from './http/client-error.ts';
export { addressOf, createTransport, errorOf, isAccepted, readJson, sendOnce, type Target } from './http/transport.ts';
export { type ClientResponse, readBody, type SingleRequest, type Transport, uniqueId } from './http/request.ts';
export { type Column, createJsonTableReader, type JsonTableReader, stringOf } from './json/json-table.ts';
export { cancelQuery, listRunning, queryRequest } from './queries.ts';
export { frameRequest, isNumericType } from './rows.ts';
export type { EngineName, FrameInfo, ListedFrame, RunningQuery, ServerInfo } from './options.ts';
export { shown, TableError } from './json/exact-json.ts';
