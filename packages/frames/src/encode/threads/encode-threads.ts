import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type Resolvers, withResolvers } from '../../with-resolvers.ts';
import type { LoadedRows } from '../row-cursor.ts';
import type { ThreadReply, ThreadRequest } from './thread-messages.ts';

/** Rows that a thread writes. */
export interface ThreadJob {
  /** What it has written, as far as there was room. Rejects where the thread has ended. */
  reply(): Promise<ThreadReply>;
  /** Has it go on with this row, out of the memory of the reply; where that had no room for it, out of more. */
  goOn(row: number, outBytes?: number): void;
  /** Takes back the memory of the reply. */
  end(): void;
}

/** Threads that write the rows of one answer, each with a kernel of its own. */
export interface EncodeThreads {
  /** How many jobs there may be at a time. */
  readonly maxJobs: number;
  start(rows: LoadedRows): ThreadJob;
  /** Gives the threads to the next answer, once they have done what they were asked. */
  release(): void;
}

// The built worker, also for the source beside it: a worker cannot load TypeScript on every Node this runs on.
const WORKER_URL = new URL('../../../dist/encode/threads/encode-worker.js', import.meta.url);

/** One thread takes as long as the main one would; more than a few write faster than a connection takes it. */
const MAX_THREADS = 4;
const JOBS_PER_THREAD = 2;
const MEMORY_BYTES = 1024 * 1024;
const OUT_BYTES = 2 * 1024 * 1024;
/**
 * After so many chunks without one of another answer between them an answer is long, and alone. Where several answers
 * share the main thread nothing would be gained.
 */
const CHUNKS_OF_ONE_THREAD = 16;

/** Threads that are started for the first long answer, and kept for others. */
export interface ThreadPool {
  /**
   * The threads, for an answer that asks behind each of its chunks; undefined where it is short or others ask too, where
   * another answer has them, or they are not there yet, or cannot be.
   */
  take(answer: object): EncodeThreads | undefined;
}

/** What a pool is made of. */
export interface ThreadPoolOptions {
  /** How many threads. Default: as many as can run at a time, at most 4; none at all where that is one. */
  readonly threads?: number;
  /** The program of a thread. Default: the one that writes rows; tests have others. */
  readonly program?: URL;
}

interface Thread {
  readonly worker: Worker;
  /** Who waits for replies, in their order. */
  readonly waiting: Resolvers<ThreadReply>[];
  isReady: boolean;
}

/** A pool without threads yet. */
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
      stop(new Error('A thread that writes answers does not start.', { cause: error }));
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
      if (threads.includes(thread)) stop(new Error('A thread that writes answers has ended.', { cause }));
    };
    worker.on('messageerror', onEnd);
    worker.on('error', onEnd);
    worker.on('exit', onEnd);
    // Last, because to listen for messages is to keep the process alive.
    worker.unref();
    return thread;
  }

  /** Ends all of them. They are started again when they are needed, unless they have never been ready. */
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
    // Who has left does not wait for it.
    reply.promise.catch(() => undefined);
    const [thread] = threads.toSorted((a, b) => a.waiting.length - b.waiting.length);
    if (thread === undefined) {
      reply.reject(new Error('The threads that write answers have ended.'));
      return reply.promise;
    }
    thread.waiting.push(reply);
    // A thread that has nothing to do must not keep the process alive, another must.
    thread.worker.ref();
    thread.worker.postMessage(request, [request.memory, request.out]);
    return reply.promise;
  }

  function receive({ worker, waiting }: Thread, reply: ThreadReply): void {
    waiting.shift()?.resolve(reply);
    if (waiting.length === 0) worker.unref();
  }

  return {
    take(answer) {
      if (countChunk(answer) < CHUNKS_OF_ONE_THREAD) return undefined;
      if (threads.length === 0 && canStart) start();
      const isFree = taken === undefined && threads.every(({ isReady, waiting }) => isReady && waiting.length === 0);
      if (threads.length === 0 || !isFree) return undefined;
      taken = answer;
      return createEncodeThreads(count * JOBS_PER_THREAD, send, () => {
        if (taken === answer) taken = undefined;
      });
    },
  };
}

/** Counts the chunks of an answer since another one had some. */
function createChunkCount(): (answer: object) => number {
  let last: object | undefined;
  let chunks = 0;
  return (answer) => {
    chunks = last === answer ? chunks + 1 : 1;
    last = answer;
    return chunks;
  };
}

/** Buffers that go to a thread and come back. */
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
        goOn(first, outBytes) {
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
