import { ServiceError } from '@svc/errors';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { bytesOfShare, type MemoryShare, resizeShare } from './memory-shares.ts';
import { type Resolvers, withResolvers } from '../../with-resolvers.ts';
import type { Outcome, WorkerRequest } from './worker-messages.ts';

/** One worker thread, seen from the main thread. */
export interface WorkerLink {
  /** Asks one thing; asked again only after the answer. Rejects, and the worker is gone, if none comes. */
  call(request: WorkerRequest): Promise<Outcome>;
  /** Drops what the worker holds, and keeps the worker; if it is busy or holds much it is ended. */
  reset(): void;
  /** False once the worker has ended. */
  readonly isAlive: boolean;
  /** Ends the worker; a call that waits for it rejects with the error. */
  end(error: Error): Promise<void>;
}

// The built worker, also for the source beside it: a worker cannot load TypeScript on every Node this runs on.
const WORKER_URL = new URL('../../../dist/decode/worker/decode-worker.js', import.meta.url);

/** Buffers of frames are outside of this; it bounds what hostile metadata can make a decoder build. */
const RESOURCE_LIMITS: ResourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

/** What a body that is given up may leave for an idle worker to collect some time; more is free when its thread is gone. */
const MAX_LEFT_BYTES = 1 << 24;

/** What a worker is started with. */
export interface WorkerLinkOptions {
  readonly stallTimeoutMs: number;
  /** What it takes for bodies is counted there, and nothing any more when it has exited. */
  readonly share: MemoryShare;
  readonly resourceLimits?: ResourceLimits;
  /** Called when the thread is gone, and all its memory with it: that may be long after it was ended. */
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
    fail(new Error('The decoding worker ended by itself.'));
    resizeShare(share, 0);
    onExit?.();
  });

  async function ask(request: WorkerRequest): Promise<Outcome> {
    pending = withResolvers<Outcome>();
    const timer = setTimeout(() => fail(stallError(stallTimeoutMs)), stallTimeoutMs);
    worker.postMessage(request, request.kind === 'chunk' ? [request.bytes.buffer] : []);
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
      if (isBusy || bytesOfShare(share) > MAX_LEFT_BYTES) fail(new Error('The decoding was given up.'));
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
    return new ServiceError('out_of_memory', 'Decoding the body takes more memory than a decoder may use.', {
      hint: 'Check that the body is whole and that its format matches Content-Type, or send it in smaller parts.',
      cause: error,
    });
  }
  return new Error('The decoding worker crashed.', { cause: error });
}

function stallError(stallTimeoutMs: number): ServiceError {
  // Mostly the machine is too busy to run the thread; whether the body is at fault cannot be told from here.
  return new ServiceError('unavailable', `Decoding the body made no progress for ${stallTimeoutMs} ms.`, {
    hint: 'Send the upload again when the server is less busy; if that fails too, send it in smaller parts.',
  });
}
