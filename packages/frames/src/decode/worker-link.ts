import { ServiceError } from '@svc/errors';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { type Resolvers, withResolvers } from './with-resolvers.ts';
import type { WorkerReply, WorkerRequest } from './worker-messages.ts';

/** One worker thread, seen from the main thread. */
export interface WorkerLink {
  /** Asks one thing; asked again only after the answer. Rejects, and the worker is gone, if none comes. */
  call(request: WorkerRequest): Promise<WorkerReply>;
  /** Drops what the worker holds, and keeps the worker; if it is busy it is ended. */
  reset(): void;
  /** False once the worker has ended. */
  readonly isAlive: boolean;
  /** Ends the worker; a call that waits for it rejects with the error. */
  end(error: Error): Promise<void>;
}

// The built worker, also for the source beside it: a worker cannot load TypeScript on every Node this runs on.
const WORKER_URL = new URL('../../dist/decode/decode-worker.js', import.meta.url);

/** Buffers of frames are outside of this; it bounds what hostile metadata can make a decoder build. */
const RESOURCE_LIMITS: ResourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

/** Starts a worker. */
export function createWorkerLink(stallTimeoutMs: number, resourceLimits = RESOURCE_LIMITS): WorkerLink {
  const worker = new Worker(WORKER_URL, { name: 'svc-decode', execArgv: [], resourceLimits });
  let pending: Resolvers<WorkerReply> | undefined;
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
  worker.on('message', (reply: WorkerReply | 'ready') => {
    if (reply === 'ready') ready.resolve(undefined);
    else pending?.resolve(reply);
  });
  worker.on('messageerror', fail);
  worker.on('error', (error) => fail(crashError(error)));
  worker.on('exit', () => fail(new Error('The decoding worker ended by itself.')));

  async function ask(request: WorkerRequest): Promise<WorkerReply> {
    pending = withResolvers<WorkerReply>();
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
      if (isBusy) fail(new Error('The decoding was given up.'));
      else worker.postMessage({ kind: 'close' } satisfies WorkerRequest, []);
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
  return new ServiceError('invalid_data', `Decoding the body made no progress for ${stallTimeoutMs} ms.`);
}
