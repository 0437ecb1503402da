import { onAbort } from '@svc/errors';
import type { BodyReader } from './body-reader.ts';
import { cancelledUpload } from './cancelled-upload.ts';
import type { FramePart } from '../decode-steps.ts';
import type { WorkerLink } from './worker-link.ts';
import { type BodyChunk, throwIfFailed, type WorkerRequest } from './worker-messages.ts';
import type { WorkerPool } from './worker-pool.ts';

/** The decoding of one body in a worker. */
export interface DecodeSession {
  /** Returns the next part of the frame, undefined at its end. Sends the worker as much of the body as that takes. */
  next(request: WorkerRequest): Promise<FramePart | undefined>;
  /** Cancels the decode and releases the worker. */
  close(): void;
}

interface SessionParts {
  readonly pool: WorkerPool;
  readonly link: WorkerLink;
  readonly reader: BodyReader;
  /** The first chunk of the body, undefined if it is empty. */
  readonly first: BodyChunk | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Starts a session on a worker of the pool. */
export function createDecodeSession(parts: SessionParts): DecodeSession {
  const { pool, link, reader, first, signal } = parts;
  let upcoming = Promise.resolve(first);
  let isOpen = true;
  /** Parts that the worker sent together, and that were not asked for yet. */
  const ahead: FramePart[] = [];
  let stopListening = (): void => undefined;

  function finish(): void {
    if (!isOpen) return;
    isOpen = false;
    stopListening();
    reader.close();
    pool.release(link);
  }
  function close(): void {
    if (!isOpen) return;
    link.reset();
    finish();
  }
  const isAborted = () => signal?.aborted === true;
  stopListening = onAbort(signal, close);

  async function call(request: WorkerRequest) {
    // The session may have been closed while the body was awaited, and the worker may have another body now.
    if (!isOpen) throw new Error('The decode was cancelled.');
    return link.call(request);
  }
  /** Sends the next chunk and prefetches the one after it. */
  async function feed() {
    const chunk = await upcoming;
    if (chunk === undefined) return call({ kind: 'end' });
    upcoming = reader.next();
    upcoming.catch(() => undefined);
    return call(chunk);
  }
  /** Starts at the beginning of the body again. */
  async function restart() {
    reader.restart();
    upcoming = reader.next();
    upcoming.catch(() => undefined);
    return call({ kind: 'next' });
  }
  /** Sends a request, and returns the next outcome that is a part of the frame, its end or a failure. */
  async function ask(request: WorkerRequest) {
    for (let outcome = await call(request); ;) {
      if (outcome.kind === 'more') outcome = await feed();
      else if (outcome.kind === 'working' || (outcome.kind === 'parts' && outcome.parts.length === 0)) {
        outcome = await call({ kind: 'next' });
      } else if (outcome.kind === 'again') outcome = await restart();
      else return outcome;
    }
  }

  return {
    async next(request) {
      try {
        if (isAborted()) throw cancelledUpload(signal?.reason);
        const known = ahead.shift();
        if (known !== undefined || !isOpen) return known;
        const outcome = await ask(request);
        throwIfFailed(outcome);
        if (outcome.kind === 'done') {
          finish();
          return undefined;
        }
        if (outcome.kind !== 'parts') return outcome;
        ahead.push(...outcome.parts);
        // Others need the worker more than the reader, who has all parts.
        if (outcome.isDone) finish();
        return ahead.shift();
      } catch (error) {
        close();
        throw isAborted() ? cancelledUpload(signal?.reason) : error;
      }
    },
    close,
  };
}
