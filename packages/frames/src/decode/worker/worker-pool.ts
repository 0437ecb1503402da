import { availableParallelism } from 'node:os';
import { abortError, onAbort, ServiceError } from '@svc/errors';
import { type CallSource, tenantShare } from '../../caller-groups.ts';
import { createSemaphore } from '../../semaphore.ts';
import { type Resolvers, withResolvers } from '../../with-resolvers.ts';
import { cancelledUpload } from './cancelled-upload.ts';
import { createMemoryShares, type MemoryShare } from './memory-shares.ts';
import { createWorkerLink, type WorkerLink } from './worker-link.ts';

/** A pool of workers that start on demand; a few idle ones are kept. */
export interface WorkerPool {
  /**
   * Acquires a worker for one body. Waits while all are busy, or all that one tenant may use; `unavailable` if that takes
   * too long. For a short body it waits a little even if another worker could be started.
   */
  acquire(signal: AbortSignal | undefined, body: PoolBody): Promise<WorkerLink>;
  /** Returns a worker to the pool; a terminated one is replaced on demand. */
  release(link: WorkerLink): void;
  close(): Promise<void>;
}

/** A body to decode. */
export interface PoolBody {
  readonly isShort: boolean;
  /** Who sent it. Bodies without a source share the workers as one. */
  readonly source?: Partial<CallSource> | undefined;
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

/** A tenant may use a worker for each core, and at least this many. More of them would take time from the main thread. */
const MIN_PER_TENANT = 4;

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
  /** A body waits here first: those that wait for a worker are few then, and no tenant has them all. */
  const perTenant = Math.min(tenantShare(maxWorkers), Math.max(MIN_PER_TENANT, availableParallelism()));
  const turns = createSemaphore(maxWorkers, perTenant);
  const endTurn = new Map<WorkerLink, () => void>();
  /** Ends the waiting of bodies that have no worker yet. */
  const limits = new Set<AbortController>();
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

  async function wait(signal: AbortSignal, isPatient: boolean): Promise<WorkerLink> {
    const waiter: Waiter = { ...withResolvers<WorkerLink>(), isPatient };
    waiters.add(waiter);
    patience.begin();
    const stopListening = onAbort(signal, () => {
      // Remove it at once: a worker handed to a waiter that has given up would leak.
      waiters.delete(waiter);
      waiter.reject(abortError(signal.reason));
    });
    try {
      return await waiter.promise;
    } finally {
      stopListening();
    }
  }

  async function acquire(signal: AbortSignal, { isShort, source }: PoolBody): Promise<WorkerLink> {
    const done = await turns.acquire(signal, undefined, source);
    try {
      if (isClosed) throw stoppingError();
      const isPatient = isShort && links.size >= ENOUGH_FOR_SHORT;
      const link = take(isPatient) ?? (await wait(signal, isPatient));
      endTurn.set(link, done);
      return link;
    } catch (error) {
      done();
      throw error;
    }
  }

  return {
    async acquire(signal, body) {
      if (isClosed) throw stoppingError();
      const limit = new AbortController();
      limits.add(limit);
      const stopListening = onAbort(signal, () => limit.abort(cancelledUpload(signal?.reason)));
      const timer = setTimeout(() => limit.abort(busyError(perTenant, waitTimeoutMs)), waitTimeoutMs);
      try {
        return await acquire(limit.signal, body);
      } finally {
        limits.delete(limit);
        clearTimeout(timer);
        stopListening();
      }
    },
    release(link) {
      if (link.isAlive) idle.add(link);
      serveNext();
      patience.renew();
      endTurn.get(link)?.();
      endTurn.delete(link);
    },
    async close() {
      isClosed = true;
      patience.end();
      idle.close();
      for (const limit of limits) limit.abort(stoppingError());
      await Promise.all([...links].map((link) => link.end(stoppingError())));
    },
  };
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

function busyError(perTenant: number, waitTimeoutMs: number): ServiceError {
  const uploads = perTenant === 1 ? '1 upload of a tenant is' : `${perTenant} uploads of a tenant are`;
  return new ServiceError(
    'unavailable',
    `All decoders were busy for ${waitTimeoutMs} ms; at most ${uploads} decoded at a time.`,
    { hint: 'Send the upload again in a moment.' },
  );
}

/** The idle workers of a pool. Those that are not needed for a while are ended, except for a few. */
interface IdleWorkers {
  add(link: WorkerLink): void;
  /** Takes a worker that is alive, if there is one. */
  take(): WorkerLink | undefined;
  /** Ends no more workers. */
  close(): void;
}

/** Idle workers cost memory; two are enough to save most bodies the start of a worker. */
const MAX_IDLE_WORKERS = 2;
/** How long more workers are kept: a start costs more than to decode a small body, and concurrent clients send many. */
const MAX_IDLE_MS = 2000;

/** Creates an empty set. */
function createIdleWorkers(): IdleWorkers {
  const idle: WorkerLink[] = [];
  /** The fewest idle workers since the timer was set. */
  let fewest = 0;
  let timer: NodeJS.Timeout | undefined;

  function trimLater(): void {
    if (timer !== undefined || idle.length <= MAX_IDLE_WORKERS) return;
    fewest = idle.length;
    timer = setTimeout(() => {
      timer = undefined;
      for (let unused = fewest - MAX_IDLE_WORKERS; unused > 0; unused--) {
        void idle.shift()?.end(new Error('The decoding worker is no longer needed.'));
      }
      trimLater();
    }, MAX_IDLE_MS).unref();
  }

  return {
    add(link) {
      idle.push(link);
      trimLater();
    },
    take() {
      // The most recently used one, so that the others become old.
      let link = idle.pop();
      while (link?.isAlive === false) link = idle.pop();
      fewest = Math.min(fewest, idle.length);
      return link;
    },
    close: () => clearTimeout(timer),
  };
}
