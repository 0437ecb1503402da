import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type Resolvers, withResolvers } from '../../with-resolvers.ts';
import type { LoadedRows } from '../row-cursor.ts';
import type { ThreadReply, ThreadRequest } from './thread-messages.ts';

/** Rows that a thread writes. */
export interface ThreadJob {
  /** Returns the rows written, as far as there was space. Rejects if the thread has exited. */
  reply(): Promise<ThreadReply>;
  /** Continues with `row`, in the memory of the reply; or in a larger output buffer, if the row did not fit. */
  resume(row: number, outBytes?: number): void;
  /** Returns the memory of the reply to the pool. */
  end(): void;
}

/** Threads that write the rows of one result, each with its own kernel. */
export interface EncodeThreads {
  /** The maximum number of concurrent jobs. */
  readonly maxJobs: number;
  start(rows: LoadedRows): ThreadJob;
  /** Releases the threads for another result, once their jobs are done. */
  release(): void;
}

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

/** Options of a pool. */
export interface ThreadPoolOptions {
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

/** Creates a pool with no threads yet. */
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

function createEncodeThreads(
  maxJobs: number,
  send: (request: ThreadRequest) => Promise<ThreadReply>,
  release: () => void,
): EncodeThreads {
  const spare: Buffers[] = [];

  function takeBuffers(memoryBytes: number): Buffers {
    const buffers = spare.pop();
    if (buffers !== undefined && buffers.memory.byteLength >= memoryBytes) return buffers;
    const memory = new ArrayBuffer(Math.max(memoryBytes, MEMORY_BYTES));
    return { memory, out: buffers?.out ?? new ArrayBuffer(OUT_BYTES) };
  }

  return {
    maxJobs,
    start({ memory: loaded, place, count, rowBytes }) {
      let buffers = takeBuffers(loaded.length);
      new Uint8Array(buffers.memory).set(loaded);
      const request = { memoryBytes: loaded.length, place, last: count, rowBytes };
      let pending = send({ ...request, ...buffers, first: 0 });
      return {
        async reply() {
          const reply = await pending;
          buffers = { memory: reply.memory, out: reply.out };
          return reply;
        },
        resume(first, outBytes) {
          const out = outBytes === undefined ? buffers.out : new ArrayBuffer(outBytes);
          pending = send({ ...request, memory: buffers.memory, out, first });
        },
        end() {
          if (buffers.out.byteLength === OUT_BYTES) spare.push(buffers);
        },
      };
    },
    release,
  };
}

/** The threads of this process. */
export const threadPool: ThreadPool = createThreadPool();
