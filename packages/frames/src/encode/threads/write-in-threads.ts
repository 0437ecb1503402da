import type { BatchRows } from '../batch-rows.ts';
import type { EncodeThreads, ThreadJob } from './encode-threads.ts';
import { MAX_ROW_BYTES } from '../row-cursor.ts';
import { OUT_START } from './thread-messages.ts';

/** Rows of a batch that follow each other. */
interface Part {
  readonly rows: BatchRows;
  readonly from: number;
  readonly to: number;
  /** Who writes them; undefined for one row that is too long for a thread. */
  readonly job: ThreadJob | undefined;
}

interface JobPart extends Part {
  readonly job: ThreadJob;
}

const MAX_OUT_BYTES = OUT_START + MAX_ROW_BYTES;

/** Where an answer goes on in threads. */
export interface ThreadedRest {
  /** The batch whose rows are left from where its cursor is. */
  readonly current: BatchRows;
  /** All batches behind it. */
  readonly others: AsyncIterable<BatchRows>;
  /** How many bytes at the end of a row separate it from the next. */
  readonly separatorBytes: number;
}

/**
 * Has threads write all rows that are left of an answer, and gives them in order, without the separator behind the last;
 * returns how many rows the frame has. A chunk, and a batch, need be good only until the next one is asked for.
 */
export async function* writeInThreads(
  { current, others, separatorBytes }: ThreadedRest,
  threads: EncodeThreads,
): AsyncGenerator<Uint8Array, number, undefined> {
  const join = createJoin(separatorBytes);
  const queue: JobPart[] = [];
  let count = 0;
  try {
    for await (const part of partsOf(current, others, threads)) {
      count = part.rows.start + part.rows.length;
      if (part.job === undefined) {
        // Before the next batch comes, which may take the memory of this one.
        for (const earlier of queue.splice(0)) yield* chunksOf(earlier, join);
        yield join(copyBehindRoom(part.rows.writeAlone(part.from)));
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
      if (row < to) job.goOn(row - from);
    } else {
      if (out.byteLength >= MAX_OUT_BYTES) throw rows.tooLong(row);
      job.goOn(row - from, Math.min(4 * out.byteLength, MAX_OUT_BYTES));
    }
  }
  job.end();
}

function copyBehindRoom(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(OUT_START + bytes.length);
  copy.set(bytes, OUT_START);
  return copy;
}

/** Moves the separator behind the rows of a chunk before those of the next. Both come behind OUT_START bytes of room. */
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
