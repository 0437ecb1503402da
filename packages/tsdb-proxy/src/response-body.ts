import type { ServiceError } from '@svc/errors';
import type { UpstreamRequest } from './upstream-request.ts';
import { silent } from './upstream-failures.ts';

/** The connection that a body is read from. */
export interface BodySource {
  /** From now on, bytes are valid only until `resume`. */
  reuseBuffers(): void;
  /** Stops reading, except for bytes that are already buffered. */
  pause(): void;
  /** The reader is done with the bytes it has: reads on, and may reuse their buffers. */
  resume(): void;
  /** Closes the connection. */
  abort(reason: Error): void;
}

/** The body of a response: the reader takes `chunks`, the parser calls `push` and `close`. */
export interface ResponseBody {
  readonly chunks: AsyncIterator<Uint8Array, void>;
  push(bytes: Uint8Array): void;
  close(): void;
}

/**
 * Reads the body on demand. The idle timeout runs only while the reader waits for bytes, so that a slow reader is not
 * mistaken for a silent database.
 */
export function createResponseBody(source: BodySource, upstream: UpstreamRequest, idleTimeoutMs: number): ResponseBody {
  const waiting: Uint8Array[] = [];
  let isOver = false;
  let failure: ServiceError | undefined;
  let wake: (() => void) | undefined;

  const lateness = () => silent(idleTimeoutMs);
  const wakeReader = () => {
    upstream.stopWaiting();
    wake?.();
  };
  const end = () => {
    isOver = true;
    upstream.end();
    wakeReader();
  };
  source.reuseBuffers();
  upstream.onAbort((reason) => {
    failure = reason;
    wakeReader();
  });

  async function next(): Promise<IteratorResult<Uint8Array, void>> {
    if (waiting.length === 0 && !isOver && failure === undefined) {
      const woken = new Promise<void>((resolve) => (wake = resolve));
      upstream.waitFor(idleTimeoutMs, lateness);
      source.resume();
      await woken;
    }
    if (failure !== undefined) throw failure;
    const value = waiting.shift();
    return value === undefined ? { done: true, value: undefined } : { done: false, value };
  }

  async function cancel(): Promise<IteratorResult<Uint8Array, void>> {
    waiting.length = 0;
    if (!isOver && failure === undefined) {
      end();
      source.abort(new Error('the reader closed the body'));
    }
    return { done: true, value: undefined };
  }

  return {
    chunks: { next, return: cancel },
    push(bytes) {
      source.pause();
      waiting.push(bytes);
      wakeReader();
    },
    close: end,
  };
}
