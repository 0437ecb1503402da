import { onAbort, ServiceError } from '@svc/errors';
import { cancelledUpload } from './cancelled-upload.ts';
import { createIdleWorkers } from './idle-workers.ts';
import { createMemoryShares, type MemoryShare } from './memory-shares.ts';
import { type Resolvers, withResolvers } from '../../with-resolvers.ts';
import { createWorkerLink, type WorkerLink } from './worker-link.ts';

/** A pool of workers that start on demand; a few idle ones are kept. */
export interface WorkerPool {
  /** Acquires a worker for one body. Waits while all are busy; `unavailable` if that takes too long. */
  acquire(signal?: AbortSignal): Promise<WorkerLink>;
  /** Returns a worker to the pool; a terminated one is replaced on demand. */
  release(link: WorkerLink): void;
  close(): Promise<void>;
}

/** Options of a pool. */
export interface WorkerPoolOptions {
  readonly maxWorkers: number;
  /** The memory limit of all bodies together. */
  readonly maxBytes: number;
  readonly waitTimeoutMs: number;
  readonly stallTimeoutMs: number;
}

/** Creates a pool with no workers yet. */
export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { maxWorkers, maxBytes, waitTimeoutMs, stallTimeoutMs } = options;
  /** The free shares, one for each worker that may be started: a share is free only when its thread has exited. */
  const shares = createMemoryShares(maxBytes, maxWorkers);
  const links = new Set<WorkerLink>();
  const idle = createIdleWorkers();
  const waiters = new Set<Resolvers<WorkerLink>>();
  let isClosed = false;

  function take(): WorkerLink | undefined {
    const link = idle.take();
    if (link !== undefined) return link;
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

  /** Hands a free worker to the oldest waiter. */
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
      // Remove it at once: a worker handed to a waiter that has given up would leak.
      waiters.delete(waiter);
      waiter.reject(error);
    }
    const timer = setTimeout(() => giveUp(busyError(maxWorkers, waitTimeoutMs)), waitTimeoutMs);
    waiters.add(waiter);
    const stopListening = onAbort(signal, () => giveUp(cancelledUpload(signal?.reason)));
    try {
      return await waiter.promise;
    } finally {
      clearTimeout(timer);
      stopListening();
    }
  }

  return {
    async acquire(signal) {
      if (isClosed) throw stoppingError();
      if (signal?.aborted === true) throw cancelledUpload(signal.reason);
      return take() ?? (await wait(signal));
    },
    release(link) {
      if (link.isAlive) idle.add(link);
      serveNext();
    },
    async close() {
      isClosed = true;
      idle.close();
      for (const waiter of waiters) waiter.reject(stoppingError());
      await Promise.all([...links].map((link) => link.end(stoppingError())));
    },
  };
}

function stoppingError(): ServiceError {
  return new ServiceError('unavailable', 'The server is stopping and does not accept uploads.');
}

function busyError(maxWorkers: number, waitTimeoutMs: number): ServiceError {
  const uploads = maxWorkers === 1 ? '1 upload is' : `${maxWorkers} uploads are`;
  return new ServiceError(
    'unavailable',
    `All decoders were busy for ${waitTimeoutMs} ms; at most ${uploads} decoded at a time.`,
    { hint: 'Send the upload again in a moment.' },
  );
}
