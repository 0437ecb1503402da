/**
 * Helpers shared with the other packages of this repository. They are not part of the public API and may change in any
 * release.
 *
 * ```ts
 * import { sqlNames } from '@svc/frames/internal';
 *
 * sqlNames(['p95', 'P95']); // ['p95_0', 'P95_1']
 * ```
 */
export { childrenOf, keyAndValueOf, typeOf, valueTypeOf } from './arrow-types.ts';
export { type ByteBudget, createByteBudget } from './byte-budget.ts';
export { isCancelled, withSignal, withSpan } from './call.ts';
export { type CallSource, createCounts, type GroupCounts, groupsOf, tenantShare } from './caller-groups.ts';
export { charactersBefore, charactersIn } from './characters.ts';
export { TYPE_METADATA_KEY } from './column-types.ts';
export { declaredField } from './declared-columns.ts';
export { type ArrowHeader, readArrowHeader } from './decode/arrow/arrow-header.ts';
export { schemaFromResult, schemaFromUpload, uncheckedSchemaFromUpload } from './decode/arrow/arrow-schema.ts';
export { decodeArrowHere, type DecodeHereOptions, decodeRowHere } from './decode/decode-here.ts';
export { MAX_COLUMNS } from './decode/limits.ts';
export { createYield } from './decode/lines/create-yield.ts';
export { fitLines } from './decode/lines/fit-lines.ts';
export { COLUMN_BYTES } from './decode/lines/line-column.ts';
export { createLineDecoder } from './decode/lines/line-decoder.ts';
export { LineError } from './decode/lines/line-cursor.ts';
export { type LineTable } from './decode/lines/line-table.ts';
export { isLinePrecision, LINE_PRECISIONS } from './decode/lines/line-numbers.ts';
export { createResultDecoder, type ResultDecoder } from './decode/result-decoder.ts';
export { distinctNames } from './distinct-names.ts';
export { encodeArrowFile } from './encode/arrow-file.ts';
export type { ArrowMessage } from './encode/arrow-message.ts';
export { encodeArrowMessages, encodeArrowSchema } from './encode/arrow-messages.ts';
export { encapsulate, END_OF_STREAM } from './encode/arrow-stream.ts';
export { encodeRowBlocks, jsonTableOf, type RowBlock } from './encode/row-blocks.ts';
export { joinArrowMessages, type SplitMessage } from './encode/join-messages.ts';
export { arrayTypeOf, chunksOf, offsetsOf, valueBytes, valuesOf } from './columns/arrow-data.ts';
export { createFrameBytes, schemaBytes } from './columns/frame-bytes.ts';
export { createRecordBatch } from './columns/create-record-batch.ts';
export { type ColumnMatch, matchColumns, underSchema } from './columns/match-columns.ts';
export { withMissingColumns } from './columns/missing-columns.ts';
export { rowsToInsert } from './insert/rows-to-insert.ts';
export { HANDLE_PATTERN } from './handle.ts';
export { limitBytes } from './limit-bytes.ts';
export { onEachBatch } from './frame-stream.ts';
export { checkFree, checkOtherHandle, checkPutConditions, expiryOf } from './memory-store/put-conditions.ts';
export { selectColumns, type SelectedColumns, sliceBatches, sliceStream } from './columns/slice-batches.ts';
export { foldedName, sharedNames, sqlNames } from './sql-names.ts';
export { checkSqlText } from './sql-text.ts';
export { prepend } from './prepend.ts';
export { RECOGNISED_BYTES } from './recognise-format.ts';
export { readHead, type StreamHead } from './read-head.ts';
export { createSemaphore, type Semaphore } from './semaphore.ts';
export { createTimeLimit, type TimeLimit, type TimeLimitOptions } from './time-limit.ts';
export { createWriteReservations, type WriteReservation, type WriteReservations } from './write-reservations.ts';
export { type Resolvers, withResolvers } from './with-resolvers.ts';
