import { onAbort, ServiceError } from '@svc/errors';
import { cancelledUpload } from './cancelled-upload.ts';
import { createIdleWorkers } from './idle-workers.ts';
import { createMemoryShares, type MemoryShare } from './memory-shares.ts';
import { type Resolvers, withResolvers } from '../../with-resolvers.ts';
import { createWorkerLink, type WorkerLink } from './worker-link.ts';

/** A pool of workers that start on demand; a few idle ones are kept. */
export interface WorkerPool {
  /**
   * Acquires a worker for one body. Waits while all are busy; `unavailable` if that takes too long. For a short body it
   * waits a little even if another worker could be started.
   */
  acquire(signal: AbortSignal | undefined, body: { readonly isShort: boolean }): Promise<WorkerLink>;
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
  /** If no worker gets free for this long, another one is started for a short body. Default 100. */
  readonly shortWaitMs?: number;
}

/** With this many workers, a short body waits for one: a start costs more than to decode many of them. */
const ENOUGH_FOR_SHORT = 2;

/** A body that waits for a worker. */
interface Waiter extends Resolvers<WorkerLink> {
  /** Whether no worker should be started for it. */
  isPatient: boolean;
}

/** Creates a pool with no workers yet. */
export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { maxWorkers, maxBytes, waitTimeoutMs, stallTimeoutMs, shortWaitMs = 100 } = options;
  /** The free shares, one for each worker that may be started: a share is free only when its thread has exited. */
  const shares = createMemoryShares(maxBytes, maxWorkers);
  const links = new Set<WorkerLink>();
  const idle = createIdleWorkers();
  const waiters = new Set<Waiter>();
  const patience = createPatience(waiters, shortWaitMs, serveNext);
  let isClosed = false;

  function take(isPatient: boolean): WorkerLink | undefined {
    const link = idle.take();
    if (link !== undefined || isPatient) return link;
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

  /** Hands a free worker to the oldest waiter that may have it. */
  function serveNext(): void {
    if (isClosed) return;
    for (const waiter of waiters) {
      const link = take(waiter.isPatient);
      if (link === undefined) continue;
      waiters.delete(waiter);
      waiter.resolve(link);
      return;
    }
  }

  async function wait(signal: AbortSignal | undefined, isPatient: boolean): Promise<WorkerLink> {
    const waiter: Waiter = { ...withResolvers<WorkerLink>(), isPatient };
    waiters.add(waiter);
    patience.begin();
    return served(waiters, waiter, { signal, waitTimeoutMs, maxWorkers });
  }

  return {
    async acquire(signal, { isShort }) {
      if (isClosed) throw stoppingError();
      if (signal?.aborted === true) throw cancelledUpload(signal.reason);
      const isPatient = isShort && links.size >= ENOUGH_FOR_SHORT;
      return take(isPatient) ?? (await wait(signal, isPatient));
    },
    release(link) {
      if (link.isAlive) idle.add(link);
      serveNext();
      patience.renew();
    },
    async close() {
      isClosed = true;
      patience.end();
      idle.close();
      for (const waiter of waiters) waiter.reject(stoppingError());
      await Promise.all([...links].map((link) => link.end(stoppingError())));
    },
  };
}

/** Returns the worker that a waiter gets. */
async function served(
  waiters: Set<Waiter>,
  waiter: Waiter,
  options: Pick<WorkerPoolOptions, 'waitTimeoutMs' | 'maxWorkers'> & { readonly signal: AbortSignal | undefined },
): Promise<WorkerLink> {
  const { signal, waitTimeoutMs, maxWorkers } = options;
  function giveUp(error: ServiceError): void {
    // Remove it at once: a worker handed to a waiter that has given up would leak.
    waiters.delete(waiter);
    waiter.reject(error);
  }
  const timer = setTimeout(() => giveUp(busyError(maxWorkers, waitTimeoutMs)), waitTimeoutMs);
  const stopListening = onAbort(signal, () => giveUp(cancelledUpload(signal?.reason)));
  try {
    return await waiter.promise;
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}

/** The time that bodies wait for a worker to get free before another one is started: the others may have long bodies. */
interface Patience {
  /** Starts the time, if it does not run yet. */
  begin(): void;
  /** Starts the time again, if a body waits. */
  renew(): void;
  end(): void;
}

function createPatience(waiters: ReadonlySet<Waiter>, ms: number, serveNext: () => void): Patience {
  let timer: NodeJS.Timeout | undefined;
  function end(): void {
    clearTimeout(timer);
    timer = undefined;
  }
  function renew(): void {
    end();
    if (waiters.size > 0) timer = setTimeout(startAnother, ms);
  }
  function startAnother(): void {
    const [oldest] = waiters;
    if (oldest !== undefined) oldest.isPatient = false;
    serveNext();
    renew();
  }
  return {
    begin() {
      if (timer === undefined) renew();
    },
    renew,
    end,
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
