import { allocate, type BatchRows, CHUNK_BYTES } from '../batch-rows.ts';
import type { EncodeThreads, ThreadJob } from './encode-threads.ts';
import { MAX_ROW_BYTES } from '../row-cursor.ts';
import { OUT_START } from './thread-messages.ts';

/** Consecutive rows of a batch. */
interface Part {
  readonly rows: BatchRows;
  readonly from: number;
  readonly to: number;
  /** The job that writes them; undefined for a single row that is too long for a thread. */
  readonly job: ThreadJob | undefined;
}

interface JobPart extends Part {
  readonly job: ThreadJob;
}

const MAX_OUT_BYTES = OUT_START + MAX_ROW_BYTES;

/** The part of a result that is written in threads. */
export interface ThreadedRest {
  /** The current batch, whose rows follow from its cursor. */
  readonly current: BatchRows;
  /** All batches after it. */
  readonly others: AsyncIterable<BatchRows>;
  /** The number of bytes at the end of a row that separate it from the next. */
  readonly separatorBytes: number;
}

/**
 * Writes the rest of a result in threads, and yields it in order, without the separator after the last row; returns the
 * row count of the frame. A chunk, like a batch, need only be valid until the next `next()`.
 */
export async function* writeInThreads(
  { current, others, separatorBytes }: ThreadedRest,
  threads: EncodeThreads,
): AsyncGenerator<Uint8Array, number, undefined> {
  const join = createJoin(separatorBytes);
  const queue: JobPart[] = [];
  const behindRoom = allocate(OUT_START + CHUNK_BYTES);
  let count = 0;
  try {
    for await (const part of partsOf(current, others, threads)) {
      count = part.rows.start + part.rows.length;
      if (part.job === undefined) {
        // Before the next batch arrives, which may reuse the memory of this one.
        for (const earlier of queue.splice(0)) yield* chunksOf(earlier, join);
        for await (const chunk of part.rows.writeLong(part.from, true)) {
          behindRoom.set(chunk, OUT_START);
          yield join(behindRoom.subarray(0, OUT_START + chunk.length));
        }
      } else {
        queue.push({ ...part, job: part.job });
        const first = queue.length < threads.maxJobs ? undefined : queue.shift();
        if (first !== undefined) yield* chunksOf(first, join);
      }
    }
    for (const part of queue) yield* chunksOf(part, join);
    return count;
  } finally {
    threads.release();
  }
}

async function* partsOf(
  current: BatchRows,
  others: AsyncIterable<BatchRows>,
  threads: EncodeThreads,
): AsyncGenerator<Part, void, undefined> {
  yield* partsOfBatch(current, threads);
  for await (const rows of others) yield* partsOfBatch(rows, threads);
}

function* partsOfBatch(rows: BatchRows, threads: EncodeThreads): Generator<Part, void, undefined> {
  const { cursor, length } = rows;
  while (cursor.row < length) {
    const from = cursor.row;
    const loaded = cursor.load();
    if (loaded === undefined) cursor.skip();
    yield { rows, from, to: cursor.row, job: loaded && threads.start(loaded) };
  }
}

async function* chunksOf({ rows, from, to, job }: JobPart, join: Join): AsyncGenerator<Uint8Array, void, undefined> {
  for (let row = from; row < to;) {
    const { error, out, bytes, row: end } = await job.reply();
    if (error !== undefined) throw error;
    if (bytes > 0) {
      yield join(new Uint8Array(out, 0, OUT_START + bytes));
      row = from + end;
      if (row < to) job.resume(row - from);
    } else {
      if (out.byteLength >= MAX_OUT_BYTES) throw rows.tooLong(row);
      job.resume(row - from, Math.min(4 * out.byteLength, MAX_OUT_BYTES));
    }
  }
  job.end();
}

/**
 * Moves the separator from the end of a chunk to the start of the next. Both chunks start with OUT_START free bytes.
 */
type Join = (chunk: Uint8Array) => Uint8Array;

function createJoin(separatorBytes: number): Join {
  let carried = new Uint8Array(0);
  return (chunk) => {
    const start = OUT_START - carried.length;
    chunk.set(carried, start);
    carried = chunk.slice(chunk.length - separatorBytes);
    return chunk.subarray(start, chunk.length - separatorBytes);
  };
}
