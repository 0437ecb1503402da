/**
 * Data frames as Arrow batches under a handle: the interfaces shared by the server's packages, an in-memory store, and
 * the encodings.
 *
 * ```ts
 * import { createMemoryStore, encodeJsonTable, parseHandle, streamFromTable } from '@svc/frames';
 * import { tableFromArrays } from 'apache-arrow';
 *
 * const store = createMemoryStore();
 * const ref = { tenant: 'default', handle: parseHandle('trades') };
 * await store.put(ref, streamFromTable(tableFromArrays({ id: new BigInt64Array([1n, 2n]) })));
 * const frame = await store.open(ref);
 * if (frame) {
 *   for await (const bytes of encodeJsonTable(frame.read({ limit: 10 }), { query: 'handle:trades' })) {
 *     process.stdout.write(bytes);
 *   }
 *   frame.close();
 * }
 * ```
 */
export {
  type Call,
  type Caller,
  type Client,
  DEFAULT_TENANT,
  type Permission,
  PERMISSIONS,
  requestIdFrom,
  type RequestOrigin,
} from './call.ts';
export {
  COLUMN_TYPES,
  type ColumnInfo,
  columnInfo,
  type ColumnTypeName,
  columnTypeName,
  type ColumnTypeRow,
} from './column-types.ts';
export { CSV_ENCODINGS, type CsvEncoding, csvEncodingFrom } from './csv-encodings.ts';
export type { DeclaredColumn } from './declared-columns.ts';
export { CONTENT_CODINGS, type ContentCoding } from './content-coding.ts';
export { streamFromTable } from './decode/adopt-batch.ts';
export { decompressBody, type DecompressOptions } from './decode/body/decompress-body.ts';
export { createDecoders, type Decoders, type DecodersOptions } from './decode/decoders.ts';
export type { LinePrecision } from './decode/lines/line-numbers.ts';
export { encodeArrowStream } from './encode/arrow-stream.ts';
export { encodeCsv } from './encode/csv.ts';
export type { ChunkOptions } from './encode/encode-rows.ts';
export { encodeJsonTable, type JsonTableOptions } from './encode/json-table.ts';
export { encodeNdjson, type NdjsonOptions } from './encode/ndjson.ts';
export {
  type DecodeOptions,
  type FileBody,
  type EncodingRow,
  ENCODINGS,
  type ResultFormat,
  type DecodedFormat,
  FILE_FORMATS,
  type FileFormat,
  type Format,
  isFileFormat,
  type ParquetEncoder,
  UPLOAD_FORMATS,
  type UploadFormat,
} from './encoding.ts';
export type {
  ChildExitReason,
  Engine,
  EngineSpan,
  QueryOptions,
  QueryResult,
  QueuePlace,
  SqlValue,
  StatementInfo,
  StatementMonitor,
  StatementProgress,
} from './engine.ts';
export type { FrameStream } from './frame-stream.ts';
export { createHandle, type Handle, isHandle, parseHandle } from './handle.ts';
export { createMemoryStore, type MemoryStoreOptions } from './memory-store/memory-store.ts';
export type { PinnableFrames, PinnedFrame, PinOptions } from './pinned-frames.ts';
export { createReadOnlyStore, type ReadOnlyFrame, type ReadOnlyStoreOptions } from './memory-store/read-only-store.ts';
export { type RecognisedBody, recogniseFormat, type RecogniseOptions } from './recognise-format.ts';
export type {
  AppendOptions,
  ByteRange,
  CsvOptions,
  FileUpload,
  FrameFile,
  FrameFileFormat,
  FrameFileOptions,
  FrameInfo,
  FrameRef,
  ListedFrame,
  ListOptions,
  OpenFrame,
  PutOptions,
  PutResult,
  PutSource,
  Quota,
  ReadOptions,
  RowsOptions,
  Store,
  StoreFault,
  StoreUsage,
} from './store.ts';
export {
  continueTrace,
  startSpan,
  type StartTrace,
  type TraceContext,
  traceHeaders,
  type TraceHeaders,
} from './trace-context.ts';
