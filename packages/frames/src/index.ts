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
export { type Call, type Client, DEFAULT_TENANT, isCancelled, requestIdFrom } from './call.ts';
export {
  COLUMN_TYPES,
  type ColumnInfo,
  columnInfo,
  type ColumnTypeName,
  columnTypeName,
  type ColumnTypeRow,
  TYPE_METADATA_KEY,
} from './column-types.ts';
export { type ArrowHeader, readArrowHeader } from './decode/arrow/arrow-header.ts';
export { schemaFromUpload, uncheckedSchemaFromUpload } from './decode/arrow/arrow-schema.ts';
export { createDecoders, type Decoders, type DecodersOptions } from './decode/decoders.ts';
export { MAX_COLUMNS } from './decode/limits.ts';
export { type ArrowMessage, encodeArrowMessages, encodeArrowSchema } from './encode/arrow-messages.ts';
export { encapsulate, encodeArrowStream, END_OF_STREAM } from './encode/arrow-stream.ts';
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
export type { Engine, QueryResult, QueryOptions, SqlValue, StatementInfo } from './engine.ts';
export { type ColumnMatch, matchColumns, underSchema } from './columns/match-columns.ts';
export { withMissingColumns } from './columns/missing-columns.ts';
export { checkPutConditions, expiryOf } from './memory-store/put-conditions.ts';
export { selectColumns, type SelectedColumns, sliceStream } from './columns/slice-batches.ts';
export { type FrameStream, streamFromTable } from './frame-stream.ts';
export { createHandle, type Handle, isHandle, parseHandle } from './handle.ts';
export { createMemoryStore, type MemoryStoreOptions } from './memory-store/memory-store.ts';
export { foldedName, sharedNames, sqlNames } from './sql-names.ts';
export { prepend } from './prepend.ts';
export type {
  AppendOptions,
  CsvOptions,
  FileUpload,
  FrameInfo,
  FrameRef,
  ListOptions,
  OpenFrame,
  PutOptions,
  PutResult,
  PutSource,
  ReadOptions,
  Store,
  StoreFault,
  StoreUsage,
} from './store.ts';
