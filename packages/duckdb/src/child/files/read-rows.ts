import type { DuckDBConnection, DuckDBDataChunk, DuckDBResult } from '@duckdb/node-api';
import duckdb from '@duckdb/node-bindings';
import { createBatchWriter } from '../../wire/batch.ts';
import { BATCH_BYTES, BATCH_ROWS, FIRST_BATCH_BYTES } from '../../wire/messages.ts';
import { collectGarbage } from '../collect-garbage.ts';
import type { ColumnReader } from '../columns/fixed-readers.ts';
import { duckTypeOf, StatementType } from '../node-api.ts';
import { type ActiveRequest, CancelledError } from '../active-request.ts';
import { fitsPlan, type GetPlan } from '../../wire/column-plans.ts';
import { createColumnReader } from '../columns/nested-readers.ts';
import type { ChildRequest, ChildResponses } from '../../wire/requests.ts';

/** Larger chunks are sent in several batches. */
const MAX_PART_BYTES = 2 * BATCH_BYTES;
/** Larger chunks have long rows. */
const LONG_ROWS_BYTES = 8 * BATCH_BYTES;

/** Sends the rows of a query. */
export async function readRows(
  connection: DuckDBConnection,
  active: ActiveRequest,
  { sql, plans }: Extract<ChildRequest, { op: 'read' }>,
  limits?: RowLimits,
): Promise<ChildResponses['read']> {
  active.spans?.step('execute');
  const prepared = await connection.prepare(sql);
  const stream = { result: await prepared.stream(), rerun: () => connection.run(WITHOUT_ROWS + sql) };
  return sendRows(active, stream, plans, limits);
}

/** Limits of the sent rows. */
interface RowLimits {
  /** A larger row is a `RowTooLarge`. Default: no limit. */
  readonly maxRowBytes?: number;
  /** Called before rows are sent, with the total so far; resolves when they may be sent. */
  readonly allow?: (rows: number) => Promise<void>;
}

/** Sends the rows of a stream. */
export async function sendRows(
  active: ActiveRequest,
  stream: RowStream,
  plans: readonly GetPlan[],
  { maxRowBytes = Infinity, allow }: RowLimits = {},
): Promise<ChildResponses['read']> {
  const { result } = stream;
  for (const [i, plan] of plans.entries()) {
    const type = duckTypeOf(result.columnType(i));
    if (!fitsPlan(type, plan))
      throw new Error(`Column ${i} of the query has the type ${type.name}, which does not match its plan.`);
  }
  const readers = plans.map((plan) => createColumnReader(plan));
  const batch: Batch = { rows: 0, readers };
  const garbage = createGarbage();
  let rows = 0;
  let sent = 0;
  async function send(): Promise<void> {
    sent += batch.rows;
    await allow?.(sent);
    await sendBatch(active, batch);
  }
  let next = result.fetchChunk();
  try {
    for (;;) {
      const chunk = await next;
      if (rows === 0) active.spans?.step('fetch');
      if (active.signal.aborted) throw new CancelledError();
      const count = chunk?.rowCount ?? 0;
      if (chunk === null || count === 0) break;
      const bytes = openChunk(chunk, readers, count);
      // Prefetch the next chunk while this one is processed, unless its rows are long: hold only one such chunk.
      const isAhead = bytes <= MAX_PART_BYTES;
      if (isAhead) next = fetchAhead(result);
      const partRows = rowsPerPart(count, bytes);
      for (let start = 0; start < count; start += partRows) {
        const taken = Math.min(partRows, count - start);
        for (const reader of readers) reader.take(start, taken);
        batch.rows += taken;
        if (bytesOf(batch) > maxRowBytes) throw new RowTooLarge();
        if (isFull(batch, sent === 0 ? FIRST_BATCH_BYTES : BATCH_BYTES)) await send();
      }
      rows += count;
      // This use keeps the chunk from being collected until its rows are copied.
      if (chunk.rowCount > 0) garbage.add(bytes);
      if (!isAhead) next = result.fetchChunk();
    }
  } finally {
    // The connection must be idle before its next statement.
    await next.catch(() => undefined);
  }
  await checkEnd(stream);
  if (batch.rows > 0) await send();
  return { rows };
}

/** Starts to fetch a chunk. A failure is reported when the promise is awaited. */
function fetchAhead(result: DuckDBResult): ReturnType<DuckDBResult['fetchChunk']> {
  const next = result.fetchChunk();
  next.catch(() => undefined);
  return next;
}

/** How many rows of a chunk to copy at once. If rows are long, one may be as long as all others together. */
function rowsPerPart(count: number, bytes: number): number {
  if (bytes <= MAX_PART_BYTES) return count;
  return bytes > LONG_ROWS_BYTES ? 1 : Math.max(1, Math.floor((count * BATCH_BYTES) / bytes));
}

/** A row exceeds `maxRowBytes`. */
export class RowTooLarge extends Error {}

interface Batch {
  rows: number;
  readonly readers: readonly ColumnReader[];
}

/** Opens a chunk in the readers; returns the approximate size of its rows in bytes. */
function openChunk({ chunk }: DuckDBDataChunk, readers: readonly ColumnReader[], count: number): number {
  return readers.reduce((bytes, reader, i) => bytes + reader.open(duckdb.data_chunk_get_vector(chunk, i), count), 0);
}

/** How much garbage may accumulate. */
const MAX_GARBAGE_BYTES = 64 * 1024 * 1024;

/**
 * Counts unused memory, and runs the garbage collector when there is too much. The memory of a chunk is freed when its
 * wrapper object is collected, and that is too small to trigger a collection.
 */
function createGarbage(): { add(bytes: number): void } {
  let waiting = 0;
  return {
    add(bytes) {
      waiting += bytes;
      if (waiting < MAX_GARBAGE_BYTES) return;
      waiting = 0;
      // A chunk of long rows survives several minor collections.
      collectGarbage(bytes > MAX_PART_BYTES ? 'major' : 'minor');
    },
  };
}

function isFull(batch: Batch, maxBytes: number): boolean {
  return batch.rows >= BATCH_ROWS || bytesOf(batch) >= maxBytes;
}

function bytesOf({ readers }: Batch): number {
  return readers.reduce((bytes, reader) => bytes + reader.bytes, 0);
}

async function sendBatch(active: ActiveRequest, batch: Batch): Promise<void> {
  const writer = createBatchWriter();
  writer.word(batch.rows);
  for (const reader of batch.readers) reader.write(writer);
  await active.sendBatch(writer);
  batch.rows = 0;
  for (const reader of batch.readers) reader.clear();
}

/** A streaming result, and a way to find out why it failed. */
export interface RowStream {
  readonly result: DuckDBResult;
  /** Runs the statement again without its rows, to throw the error that the stream does not report. */
  readonly rerun: () => Promise<unknown>;
}

/** Before a statement, runs it without returning its rows. */
export const WITHOUT_ROWS = 'EXPLAIN ANALYZE ';

/**
 * Throws if an ended stream has failed. DuckDB returns no chunk both at the end and after an error, and the
 * bindings do not expose the error itself; but a failed result has no statement type.
 */
async function checkEnd({ result, rerun }: RowStream): Promise<void> {
  if (result.statementType !== StatementType.INVALID) return;
  await rerun();
  throw new Error('The statement failed after its first rows, and succeeded when it was run again.');
}

/**
 * DuckDB stops decoding when the buffer of a result is full, and resumes when it is empty. The default of 1 MB holds about
 * one row group: then only one thread decodes, and none does so while rows are copied. The setting is one of a connection.
 */
const ENLARGE_BUFFER = "SET streaming_buffer_size = '16MB'";
/** DuckDB's memory limit does not include these buffers, and a slow client keeps its own full: further reads get none. */
const MAX_LARGE_BUFFERS = 8;
let largeBuffers = 0;

/** Runs a long read with a larger streaming buffer, if there are not too many. */
export async function withLargeBuffer<T>(connection: DuckDBConnection, read: () => Promise<T>): Promise<T> {
  if (largeBuffers === MAX_LARGE_BUFFERS) return read();
  largeBuffers++;
  try {
    await connection.run(ENLARGE_BUFFER);
    return await read();
  } finally {
    largeBuffers--;
  }
}
