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
export type {
  CallOptions,
  EngineName,
  FrameInfo,
  KeepOptions,
  ListedFrame,
  ListOptions,
  QueryOptions,
  RowOptions,
  RunningQuery,
  SelectOptions,
  ServerInfo,
  StreamOptions,
  UploadOptions,
  WriteOptions,
  WrittenFrame,
} from './options.ts';
export { ClientError, type ClientErrorDetails, type FailureCode } from './http/client-error.ts';
export { type Client, type ClientOptions, createClient } from './client.ts';
export type { TransportOptions } from './http/transport.ts';
export type { ByteStream, ClientRequest, ClientResponse, RequestBody, Transport } from './http/request.ts';
export type { Longs, Value } from './json/exact-json.ts';
export type { Result } from './queries.ts';
export type { Column, Row } from './json/json-table.ts';
export type { ArrowLibrary, UploadData } from './frames.ts';
