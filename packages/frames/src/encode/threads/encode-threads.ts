import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type Resolvers, withResolvers } from '../../async.ts';
import { MAX_ROW_BYTES } from '../columns/column.ts';
import { allocate, type BatchRows, CHUNK_BYTES, type LoadedRows } from '../row-cursor.ts';

/** A request to write loaded rows. Both buffers are transferred. */
export interface ThreadRequest {
  /** The memory of the kernel that loaded the rows, in a buffer that may be longer. */
  readonly memory: ArrayBuffer;
  readonly memoryBytes: number;
  /** The output buffer, used from OUT_START. */
  readonly out: ArrayBuffer;
  readonly place: number;
  readonly first: number;
  readonly last: number;
  /** The maximum bytes of a row, except for its texts and items. */
  readonly rowBytes: number;
}

/** The reply; both buffers are transferred back. */
export interface ThreadReply {
  readonly memory: ArrayBuffer;
  readonly out: ArrayBuffer;
  /** The first row that was not written, for lack of space or because it is invalid. */
  readonly row: number;
  readonly bytes: number;
  /** Why the row could not be written. */
  readonly error?: Error;
}

/** The bytes reserved at the start of the output, for a separator before the first row. */
export const OUT_START = 16;

// Always the built worker, also in tests: not every supported version of Node loads TypeScript in a worker.
const WORKER_URL = new URL('../../../dist/encode/threads/encode-worker.js', import.meta.url);

/** A single thread is no faster than the main one; more than a few are faster than a connection. */
const MAX_THREADS = 4;
const JOBS_PER_THREAD = 2;
const MEMORY_BYTES = 1024 * 1024;
const OUT_BYTES = 2 * 1024 * 1024;
/**
 * After this many chunks with none of another result in between, a result is long, and alone. If several results share
 * the main thread, threads do not help.
 */
const CHUNKS_OF_ONE_THREAD = 16;

/** Threads that start with the first long result, and are kept for others. */
export interface ThreadPool {
  /**
   * Takes the threads, for a result that asks after each of its chunks. Undefined if the result is short or others ask
   * too, if another result has the threads, or if they are not ready or failed to start.
   */
  take(owner: object): EncodeThreads | undefined;
}

interface ThreadPoolOptions {
  /** The number of threads. Default: the available parallelism, at most 4; none if that is one. */
  readonly threads?: number;
  /** The program of a thread, for tests. Default: the one that writes rows. */
  readonly program?: URL;
}

interface Thread {
  readonly worker: Worker;
  /** The pending replies, in order. */
  readonly waiting: Resolvers<ThreadReply>[];
  isReady: boolean;
}

export function createThreadPool(options: ThreadPoolOptions = {}): ThreadPool {
  const { threads: count = Math.min(MAX_THREADS, availableParallelism()), program = WORKER_URL } = options;
  const threads: Thread[] = [];
  let canStart = count > 1;
  let taken: object | undefined;
  const countChunk = createChunkCount();

  function start(): void {
    try {
      while (threads.length < count) threads.push(startThread());
    } catch (error) {
      stop(new Error('An encoder thread could not be started.', { cause: error }));
    }
  }

  function startThread(): Thread {
    const worker = new Worker(program, { name: 'svc-encode', execArgv: [] });
    const thread: Thread = { worker, waiting: [], isReady: false };
    worker.on('message', (reply: ThreadReply | 'ready') => {
      if (reply === 'ready') thread.isReady = true;
      else receive(thread, reply);
    });
    const onEnd = (cause: unknown) => {
      if (threads.includes(thread)) stop(new Error('An encoder thread exited.', { cause }));
    };
    worker.on('messageerror', onEnd);
    worker.on('error', onEnd);
    worker.on('exit', onEnd);
    // Last, because a message listener keeps the process alive.
    worker.unref();
    return thread;
  }

  /** Terminates all threads. They start again on demand, unless they were never ready. */
  function stop(error: Error): void {
    canStart = threads.length === count && threads.every(({ isReady }) => isReady);
    taken = undefined;
    for (const { worker, waiting } of threads.splice(0)) {
      for (const { reject } of waiting) reject(error);
      void worker.terminate();
    }
  }

  function send(request: ThreadRequest): Promise<ThreadReply> {
    const reply = withResolvers<ThreadReply>();
    // Avoid an unhandled rejection if the reader has stopped.
    reply.promise.catch(() => undefined);
    const [thread] = threads.toSorted((a, b) => a.waiting.length - b.waiting.length);
    if (thread === undefined) {
      reply.reject(new Error('The encoder threads have exited.'));
      return reply.promise;
    }
    thread.waiting.push(reply);
    // An idle thread must not keep the process alive; a busy one must.
    thread.worker.ref();
    thread.worker.postMessage(request, [request.memory, request.out]);
    return reply.promise;
  }

  function receive({ worker, waiting }: Thread, reply: ThreadReply): void {
    waiting.shift()?.resolve(reply);
    if (waiting.length === 0) worker.unref();
  }

  return {
    take(owner) {
      if (countChunk(owner) < CHUNKS_OF_ONE_THREAD) return undefined;
      if (threads.length === 0 && canStart) start();
      const isFree = taken === undefined && threads.every(({ isReady, waiting }) => isReady && waiting.length === 0);
      if (threads.length === 0 || !isFree) return undefined;
      taken = owner;
      return createEncodeThreads(count * JOBS_PER_THREAD, send, () => {
        if (taken === owner) taken = undefined;
      });
    },
  };
}

/** Counts the consecutive chunks of one result. */
function createChunkCount(): (owner: object) => number {
  let last: object | undefined;
  let chunks = 0;
  return (owner) => {
    chunks = last === owner ? chunks + 1 : 1;
    last = owner;
    return chunks;
  };
}

/** Buffers that are transferred to a thread and back. */
type Buffers = Pick<ThreadRequest, 'memory' | 'out'>;

/** Threads that write the rows of one result, each with its own kernel. */
export type EncodeThreads = ReturnType<typeof createEncodeThreads>;
/** Rows a thread writes. */
type ThreadJob = ReturnType<EncodeThreads['start']>;

/**
 * Lets at most `maxJobs` write at a time. `release` frees the threads for another result, once their jobs are done.
 */
function createEncodeThreads(
  maxJobs: number,
  send: (request: ThreadRequest) => Promise<ThreadReply>,
  release: () => void,
) {
  const spare: Buffers[] = [];

  function takeBuffers(memoryBytes: number): Buffers {
    const buffers = spare.pop();
    if (buffers !== undefined && buffers.memory.byteLength >= memoryBytes) return buffers;
    const memory = new ArrayBuffer(Math.max(memoryBytes, MEMORY_BYTES));
    return { memory, out: buffers?.out ?? new ArrayBuffer(OUT_BYTES) };
  }

  return {
    maxJobs,
    start({ memory: loaded, place, count, rowBytes }: LoadedRows) {
      let buffers = takeBuffers(loaded.length);
      new Uint8Array(buffers.memory).set(loaded);
      const request = { memoryBytes: loaded.length, place, last: count, rowBytes };
      let pending = send({ ...request, ...buffers, first: 0 });
      return {
        /** Returns the rows written, as far as there was space. Rejects if the thread has exited. */
        async reply(): Promise<ThreadReply> {
          const reply = await pending;
          buffers = { memory: reply.memory, out: reply.out };
          return reply;
        },
        /** Continues with `first`, in the memory of the reply; or in a larger output buffer, if the row did not fit. */
        resume(first: number, outBytes?: number): void {
          const out = outBytes === undefined ? buffers.out : new ArrayBuffer(outBytes);
          pending = send({ ...request, memory: buffers.memory, out, first });
        },
        /** Returns the memory of the reply to the pool. */
        end(): void {
          if (buffers.out.byteLength === OUT_BYTES) spare.push(buffers);
        },
      };
    },
    release,
  };
}

/** The threads of this process. */
export const threadPool: ThreadPool = createThreadPool();

/** Consecutive rows of a batch. */
interface Part {
  readonly rows: BatchRows;
  readonly from: number;
  readonly to: number;
  /** The job that writes them; undefined for a single row that is too long for a thread. */
  readonly job: ThreadJob | undefined;
}

type JobPart = Part & { readonly job: ThreadJob };

const MAX_OUT_BYTES = OUT_START + MAX_ROW_BYTES;

/** The part of a result that is written in threads. */
interface ThreadedRest {
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
