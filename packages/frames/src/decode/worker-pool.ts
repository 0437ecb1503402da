import { ServiceError } from '@svc/errors';
import { cancelledError } from './cancelled-error.ts';
import { type Resolvers, withResolvers } from './with-resolvers.ts';
import { createWorkerLink, type WorkerLink } from './worker-link.ts';

/** A few workers that are started when they are needed and kept for the next body. */
export interface WorkerPool {
  /** A worker for one body alone; waits while all are taken. */
  acquire(signal?: AbortSignal): Promise<WorkerLink>;
  /** Gives a worker back; one that has ended is replaced when it is needed. */
  release(link: WorkerLink): void;
  close(): Promise<void>;
}

/** A pool of at most so many workers. */
export function createWorkerPool(maxWorkers: number, stallTimeoutMs: number): WorkerPool {
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

  async function wait(signal: AbortSignal | undefined): Promise<WorkerLink> {
    const waiter = withResolvers<WorkerLink>();
    const onAbort = () => waiter.reject(cancelledError(signal?.reason));
    waiters.add(waiter);
    signal?.addEventListener('abort', onAbort);
    try {
      return await waiter.promise;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      waiters.delete(waiter);
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
      if (waiter === undefined || next === undefined) return;
      waiters.delete(waiter);
      waiter.resolve(next);
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
