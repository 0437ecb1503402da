/**
 * A typed client of the data-frame server.
 *
 * ```ts
 * import { createClient } from '@svc/client';
 *
 * const client = createClient({ url: 'http://localhost:9000' });
 * await client.put('trades', [{ symbol: 'ACME', price: 1.5 }]);
 * for await (const row of await client.read('trades')) console.log(row.symbol);
 * ```
 */
export type { Client } from './client.ts';
export { ClientError, type ClientErrorDetails, type FailureCode } from './http/client-error.ts';
export { type ClientOptions, createClient } from './create-client.ts';
export type { ByteStream } from './http/response-body.ts';
export type { RequestBody } from './http/request-body.ts';
export type { ClientRequest, ClientResponse, Transport } from './http/request.ts';
export type { TransportOptions } from './http/transport.ts';
export type { Longs } from './json/exact-json.ts';
export type { ArrowLibrary } from './load-arrow.ts';
export type {
  CallOptions,
  KeepOptions,
  ListOptions,
  QueryOptions,
  RowOptions,
  SelectOptions,
  StreamOptions,
  UploadOptions,
  WriteOptions,
} from './options.ts';
export type { Result } from './result.ts';
export type { Column, Row, Value } from './json/table-types.ts';
export type { EngineName, FrameInfo, ListedFrame, RunningQuery, ServerInfo, WrittenFrame } from './types.ts';
export type { UploadData } from './upload.ts';
