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
  continueTrace,
  DEFAULT_TENANT,
  type Permission,
  PERMISSIONS,
  requestIdFrom,
  type RequestOrigin,
  startSpan,
  type StartTrace,
  type TraceContext,
  type TraceHeaders,
  traceHeaders,
} from './call.ts';
export {
  COLUMN_TYPES,
  type ColumnInfo,
  columnInfo,
  type ColumnTypeName,
  columnTypeName,
  type ColumnTypeRow,
  type DeclaredColumn,
} from './column-types.ts';
export {
  CONTENT_CODINGS,
  type ContentCoding,
  CSV_ENCODINGS,
  type CsvEncoding,
  csvEncodingFrom,
  type DecodedFormat,
  type DecodeOptions,
  type EncodingRow,
  ENCODINGS,
  FILE_FORMATS,
  type FileBody,
  type FileFormat,
  type Format,
  isFileFormat,
  type ParquetEncoder,
  type RecognisedBody,
  recogniseFormat,
  type RecogniseOptions,
  type ResultFormat,
  UPLOAD_FORMATS,
  type UploadFormat,
} from './encoding.ts';
export { streamFromTable } from './decode/adopt-batch.ts';
export { decompressBody, type DecompressOptions } from './decode/decompress-body.ts';
export { createDecoders, type Decoders, type DecodersOptions } from './decode/decoders.ts';
export type { LinePrecision } from './decode/lines/line-tokens.ts';
export { encodeArrowStream } from './encode/arrow-stream.ts';
export {
  type ChunkOptions,
  encodeCsv,
  encodeJsonTable,
  encodeNdjson,
  type JsonTableOptions,
  type NdjsonOptions,
} from './encode/row-formats.ts';
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
export type { FrameStream } from './streams.ts';
export {
  type AppendOptions,
  type ByteRange,
  createHandle,
  type CsvOptions,
  type FileUpload,
  type FrameFile,
  type FrameFileFormat,
  type FrameFileOptions,
  type FrameInfo,
  type FrameRef,
  type Handle,
  isHandle,
  type ListedFrame,
  type ListOptions,
  type OpenFrame,
  parseHandle,
  type PinnableFrames,
  type PinnedFrame,
  type PinOptions,
  type PutOptions,
  type PutResult,
  type PutSource,
  type Quota,
  type ReadOptions,
  type RowsOptions,
  type Store,
  type StoreFault,
  type StoreUsage,
} from './store.ts';
export { createMemoryStore, type MemoryStoreOptions } from './memory-store/memory-store.ts';
export { createReadOnlyStore, type ReadOnlyFrame, type ReadOnlyStoreOptions } from './memory-store/read-only-store.ts';
