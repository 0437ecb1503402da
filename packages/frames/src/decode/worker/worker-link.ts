import { ServiceError } from '@svc/errors';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { bytesOfShare, type MemoryShare, resizeShare } from './memory-shares.ts';
import { type Resolvers, withResolvers } from '../../with-resolvers.ts';
import { buffersOfRequest, type Outcome, type WorkerRequest } from './worker-messages.ts';

/** The main thread's side of one worker thread. */
export interface WorkerLink {
  /** Sends a request and waits for its outcome, one at a time. If none comes, rejects and terminates the worker. */
  call(request: WorkerRequest): Promise<Outcome>;
  /** Discards the worker's body. Terminates the worker if it is busy or holds much memory. */
  reset(): void;
  /** Whether the worker is running. */
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

/** Options of a worker. */
export interface WorkerLinkOptions {
  readonly stallTimeoutMs: number;
  /** Counts the worker's memory for bodies; reset when the thread exits. */
  readonly share: MemoryShare;
  readonly resourceLimits?: ResourceLimits;
  /** Called when the thread has exited and its memory is free, perhaps long after it was terminated. */
  readonly onExit?: () => void;
}

/** Starts a worker. */
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
