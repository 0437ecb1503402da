import type { BodyReader } from './body-reader.ts';
import { cancelledError } from './cancelled-error.ts';
import type { FramePiece } from './decode-steps.ts';
import type { WorkerLink } from './worker-link.ts';
import { throwIfFailed, type WorkerRequest } from './worker-messages.ts';
import type { WorkerPool } from './worker-pool.ts';

/** One body on its way through a worker. */
export interface DecodeSession {
  /** The next piece of the frame, undefined at its end; feeds the worker with as much of the body as that takes. */
  next(request: WorkerRequest): Promise<FramePiece | undefined>;
  /** Gives the body up and the worker back. */
  close(): void;
}

interface SessionParts {
  readonly pool: WorkerPool;
  readonly link: WorkerLink;
  readonly reader: BodyReader;
  /** The first piece of the body, undefined where it is empty. */
  readonly first: Uint8Array<ArrayBuffer> | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Begins a session on a worker of the pool. */
export function createDecodeSession({ pool, link, reader, first, signal }: SessionParts): DecodeSession {
  let upcoming = Promise.resolve(first);
  let isOpen = true;

  function finish(): void {
    if (!isOpen) return;
    isOpen = false;
    signal?.removeEventListener('abort', close);
    reader.close();
    pool.release(link);
  }
  function close(): void {
    if (!isOpen) return;
    link.reset();
    finish();
  }
  const isAborted = () => signal?.aborted === true;
  signal?.addEventListener('abort', close);

  async function call(request: WorkerRequest) {
    // It may have been closed while the body was awaited, and the worker may have another body by now.
    if (!isOpen) throw new Error('The decoding was given up.');
    return link.call(request);
  }
  /** Sends the next piece, and has the one after it fetched meanwhile. */
  async function feed() {
    const bytes = await upcoming;
    if (bytes === undefined) return call({ kind: 'end' });
    upcoming = reader.next();
    upcoming.catch(() => undefined);
    return call({ kind: 'chunk', bytes });
  }

  return {
    async next(request) {
      try {
        // Also where that was before anybody listened: the worker is given back then too.
        if (isAborted()) throw cancelledError(signal?.reason);
        if (!isOpen) return undefined;
        let outcome = await call(request);
        while (outcome.kind === 'more' || outcome.kind === 'working') {
          outcome = outcome.kind === 'more' ? await feed() : await call({ kind: 'next' });
        }
        throwIfFailed(outcome);
        if (outcome.kind !== 'done') return outcome;
        finish();
        return undefined;
      } catch (error) {
        close();
        throw isAborted() ? cancelledError(signal?.reason) : error;
      }
    },
    close,
  };
}
