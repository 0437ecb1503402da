import { ServiceError } from '@svc/errors';
import { cancelledError } from './cancelled-error.ts';
import { createMemoryShares, type MemoryShare } from './memory-shares.ts';
import { type Resolvers, withResolvers } from '../../with-resolvers.ts';
import { createWorkerLink, type WorkerLink } from './worker-link.ts';

/** Workers that are started when they are needed; a few are kept for the next bodies. */
export interface WorkerPool {
  /** A worker for one body alone; waits while all are taken, and is `unavailable` where that takes too long. */
  acquire(signal?: AbortSignal): Promise<WorkerLink>;
  /** Gives a worker back; one that has ended is replaced when it is needed. */
  release(link: WorkerLink): void;
  close(): Promise<void>;
}

/** How many workers there may be, and how long they may take. */
export interface WorkerPoolOptions {
  readonly maxWorkers: number;
  /** What all of them may take for bodies together. */
  readonly maxBytes: number;
  readonly waitTimeoutMs: number;
  readonly stallTimeoutMs: number;
}

/** Workers that nobody uses take memory; two are enough to spare most bodies the start of one. */
const MAX_IDLE_WORKERS = 2;

/** A pool without workers yet. */
export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { maxWorkers, maxBytes, waitTimeoutMs, stallTimeoutMs } = options;
  /** One for each worker that may be started now: it is another's only when the thread that had it is gone. */
  const shares = createMemoryShares(maxBytes, maxWorkers);
  const links = new Set<WorkerLink>();
  const idle: WorkerLink[] = [];
  const waiters = new Set<Resolvers<WorkerLink>>();
  let isClosed = false;

  function take(): WorkerLink | undefined {
    for (let link = idle.pop(); link !== undefined; link = idle.pop()) {
      if (link.isAlive) return link;
    }
    const share = shares.pop();
    return share && start(share);
  }

  function start(share: MemoryShare): WorkerLink {
    const link = createWorkerLink({ stallTimeoutMs, share, onExit });
    function onExit(): void {
      links.delete(link);
      shares.push(share);
      serveNext();
    }
    links.add(link);
    return link;
  }

  /** Gives a worker to who waits for the longest time. */
  function serveNext(): void {
    const [waiter] = waiters;
    const link = waiter === undefined || isClosed ? undefined : take();
    if (waiter === undefined || link === undefined) return;
    waiters.delete(waiter);
    waiter.resolve(link);
  }

  async function wait(signal: AbortSignal | undefined): Promise<WorkerLink> {
    const waiter = withResolvers<WorkerLink>();
    function giveUp(error: ServiceError): void {
      // At once: a worker that is given to who has given up is lost.
      waiters.delete(waiter);
      waiter.reject(error);
    }
    const onAbort = () => giveUp(cancelledError(signal?.reason));
    const timer = setTimeout(() => giveUp(busyError(maxWorkers, waitTimeoutMs)), waitTimeoutMs);
    waiters.add(waiter);
    signal?.addEventListener('abort', onAbort);
    try {
      return await waiter.promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  return {
    async acquire(signal) {
      if (isClosed) throw stoppingError();
      if (signal?.aborted === true) throw cancelledError(signal.reason);
      return take() ?? (await wait(signal));
    },
    release(link) {
      if (link.isAlive) idle.push(link);
      serveNext();
      if (idle.length > MAX_IDLE_WORKERS)
        void idle.shift()?.end(new Error('The decoding worker is not needed any more.'));
    },
    async close() {
      isClosed = true;
      for (const waiter of waiters) waiter.reject(stoppingError());
      await Promise.all([...links].map((link) => link.end(stoppingError())));
    },
  };
}

function stoppingError(): ServiceError {
  return new ServiceError('unavailable', 'The server is stopping and decodes no more uploads.');
}

function busyError(maxWorkers: number, waitTimeoutMs: number): ServiceError {
  const uploads = maxWorkers === 1 ? '1 upload is' : `${maxWorkers} uploads are`;
  return new ServiceError(
    'unavailable',
    `All decoders were busy for ${waitTimeoutMs} ms; at most ${uploads} decoded at a time.`,
    { hint: 'Send the upload again in a moment.' },
  );
}
