import { availableParallelism } from 'node:os';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { abortError, onAbort, ServiceError } from '@svc/errors';
import { type CallSource, createSemaphore, tenantShare } from '../../semaphore.ts';
import { type Resolvers, withResolvers } from '../../async.ts';
import { bytesOfShare, createMemoryShares, type MemoryShare, resizeShare } from '../limits.ts';
import { buffersOfRequest, cancelledUpload, type Outcome, type WorkerRequest } from './worker-messages.ts';

/** A pool of workers that start on demand; a few idle ones are kept. */
export interface WorkerPool {
  /**
   * Acquires a worker for one body. Waits while all are busy, or all one tenant may use; `unavailable` if that takes
   * too long. For a short body it waits a little even if another worker could be started.
   */
  acquire(signal: AbortSignal | undefined, body: PoolBody): Promise<WorkerLink>;
  /** Returns a worker to the pool; a terminated one is replaced on demand. */
  release(link: WorkerLink): void;
  close(): Promise<void>;
}

interface PoolBody {
  readonly isShort: boolean;
  /** Who sent it. Bodies without a source share the workers as one. */
  readonly source?: Partial<CallSource> | undefined;
}

interface WorkerPoolOptions {
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
  /** True if no worker should be started for it. */
  isPatient: boolean;
}

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

/** The time for which bodies wait for a free worker before another one is started: the others may have long bodies. */
function createPatience(waiters: ReadonlySet<Waiter>, ms: number, serveNext: () => void) {
  let timer: NodeJS.Timeout | undefined;
  function end(): void {
    clearTimeout(timer);
    timer = undefined;
  }
  /** Starts the time again, if a body waits. */
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
    begin(): void {
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

/** Idle workers cost memory; two are enough to save most bodies the start of a worker. */
const MAX_IDLE_WORKERS = 2;
/** How long more workers are kept: a start costs more than to decode a small body, and concurrent clients send many. */
const MAX_IDLE_MS = 2000;

/** The idle workers of a pool. Unneeded ones are ended after a while, except for a few. */
function createIdleWorkers() {
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
    add(link: WorkerLink): void {
      idle.push(link);
      trimLater();
    },
    take(): WorkerLink | undefined {
      // The most recently used one, so the others become old.
      let link = idle.pop();
      while (link?.isAlive === false) link = idle.pop();
      fewest = Math.min(fewest, idle.length);
      return link;
    },
    close: (): void => clearTimeout(timer),
  };
}

/** The main thread's side of one worker thread. */
export interface WorkerLink {
  /** Sends a request and waits for its outcome, one at a time. If none comes, rejects and terminates the worker. */
  call(request: WorkerRequest): Promise<Outcome>;
  /** Discards the worker's body. Terminates the worker if it is busy or holds much memory. */
  reset(): void;
  /** True if the worker is running. */
  readonly isAlive: boolean;
  /** Terminates the worker; a pending call rejects with the error. */
  end(error: Error): Promise<void>;
}

// Always the built worker, also in tests: not every supported version of Node loads TypeScript in a worker.
const WORKER_URL = new URL('../../../dist/decode/worker/decode-worker.js', import.meta.url);

/** Bounds what hostile metadata can make a decoder allocate. The buffers of frames are not on this heap. */
const RESOURCE_LIMITS: ResourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

/** The most memory of a cancelled body that is left to garbage collection. With more, the thread is terminated. */
const MAX_LEFT_BYTES = 1 << 24;

interface WorkerLinkOptions {
  readonly stallTimeoutMs: number;
  /** Counts the worker's memory for bodies; reset when the thread exits. */
  readonly share: MemoryShare;
  readonly resourceLimits?: ResourceLimits;
  /** Called when the thread has exited and its memory is free, perhaps long after it was terminated. */
  readonly onExit?: () => void;
}

export function createWorkerLink(options: WorkerLinkOptions): WorkerLink {
  const { stallTimeoutMs, share, resourceLimits = RESOURCE_LIMITS, onExit } = options;
  const worker = new Worker(WORKER_URL, { name: 'svc-decode', execArgv: [], resourceLimits, workerData: share });
  let pending: Resolvers<Outcome> | undefined;
  let failure: Error | undefined;
  let isBusy = false;
  const ready = withResolvers<undefined>();
  ready.promise.catch(() => undefined);
  worker.unref();

  function fail(error: Error): void {
    failure ??= error;
    ready.reject(failure);
    pending?.reject(failure);
    void worker.terminate();
  }
  worker.on('message', (reply: Outcome | 'ready') => {
    if (reply === 'ready') ready.resolve(undefined);
    else pending?.resolve(reply);
  });
  worker.on('messageerror', fail);
  worker.on('error', (error) => fail(crashError(error)));
  worker.on('exit', () => {
    fail(new Error('The decoding worker exited unexpectedly.'));
    resizeShare(share, 0);
    onExit?.();
  });

  async function ask(request: WorkerRequest): Promise<Outcome> {
    pending = withResolvers<Outcome>();
    const timer = setTimeout(() => fail(stallError(stallTimeoutMs)), stallTimeoutMs);
    worker.postMessage(request, buffersOfRequest(request));
    try {
      return await pending.promise;
    } finally {
      clearTimeout(timer);
      pending = undefined;
    }
  }

  return {
    async call(request) {
      if (failure !== undefined) throw failure;
      // An idle worker must not keep the process alive, a busy one must.
      worker.ref();
      isBusy = true;
      try {
        await ready.promise;
        return await ask(request);
      } finally {
        isBusy = false;
        worker.unref();
      }
    },
    reset() {
      if (isBusy || bytesOfShare(share) > MAX_LEFT_BYTES) fail(new Error('The decode was cancelled.'));
      else if (failure === undefined) {
        resizeShare(share, 0);
        worker.postMessage({ kind: 'close' } satisfies WorkerRequest, []);
      }
    },
    get isAlive() {
      return failure === undefined;
    },
    async end(error) {
      fail(error);
      await worker.terminate();
    },
  };
}

function crashError(error: unknown): Error {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new ServiceError('out_of_memory', 'Decoding the body needs more memory than the limit of a decoder.', {
      hint: 'Check that the body is complete and that its format matches Content-Type, or send it in smaller parts.',
      cause: error,
    });
  }
  return new Error('The decoding worker crashed.', { cause: error });
}

function stallError(stallTimeoutMs: number): ServiceError {
  // Usually the machine is too busy to run the thread; from here, the body cannot be ruled out.
  return new ServiceError('unavailable', `Decoding the body made no progress for ${stallTimeoutMs} ms.`, {
    hint: 'Send the upload again when the server is less busy; if that fails too, send it in smaller parts.',
  });
}
