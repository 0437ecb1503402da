import { ServiceError } from '@svc/errors';
import { cancelledError } from './cancelled-error.ts';
import { type Resolvers, withResolvers } from './with-resolvers.ts';
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
  readonly waitTimeoutMs: number;
  readonly stallTimeoutMs: number;
}

/** Workers that nobody uses take memory; two are enough to spare most bodies the start of one. */
const MAX_IDLE_WORKERS = 2;

/** A pool without workers yet. */
export function createWorkerPool({ maxWorkers, waitTimeoutMs, stallTimeoutMs }: WorkerPoolOptions): WorkerPool {
  const links = new Set<WorkerLink>();
  const idle: WorkerLink[] = [];
  const waiters = new Set<Resolvers<WorkerLink>>();
  let isClosed = false;

  function take(): WorkerLink | undefined {
    for (let link = idle.pop(); link !== undefined; link = idle.pop()) {
      if (link.isAlive) return link;
      links.delete(link);
    }
    if (links.size >= maxWorkers) return undefined;
    const link = createWorkerLink(stallTimeoutMs);
    links.add(link);
    return link;
  }

  function end(link: WorkerLink | undefined): void {
    if (link === undefined) return;
    links.delete(link);
    void link.end(new Error('The decoding worker is not needed any more.'));
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
      else links.delete(link);
      const [waiter] = waiters;
      const next = waiter === undefined || isClosed ? undefined : take();
      if (waiter !== undefined && next !== undefined) {
        waiters.delete(waiter);
        waiter.resolve(next);
      }
      if (idle.length > MAX_IDLE_WORKERS) end(idle.shift());
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
