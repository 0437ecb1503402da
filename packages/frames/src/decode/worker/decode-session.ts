import { onAbort } from '@svc/errors';
import type { FileBody } from '../../encoding.ts';
import { withResolvers } from '../../async.ts';
import type { FramePart } from '../decode-steps.ts';
import { cancelledUpload, type BodyChunk, throwIfFailed, type WorkerRequest } from './worker-messages.ts';
import type { WorkerLink, WorkerPool } from './worker-pool.ts';

/** The decoding of one body in a worker. */
export type DecodeSession = ReturnType<typeof createDecodeSession>;

/** Starts a session on a worker of the pool. `first` is the first chunk of the body, undefined if it is empty. */
export function createDecodeSession(
  pool: WorkerPool,
  link: WorkerLink,
  reader: BodyReader,
  first: BodyChunk | undefined,
  signal: AbortSignal | undefined,
) {
  let upcoming = Promise.resolve(first);
  let isOpen = true;
  /** Parts the worker sent together, but the reader has not asked for. */
  const ahead: FramePart[] = [];
  let stopListening = (): void => undefined;

  function finish(): void {
    if (!isOpen) return;
    isOpen = false;
    stopListening();
    reader.close();
    pool.release(link);
  }
  /** Cancels the decode and releases the worker. */
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
    /** Returns the next part of the frame, undefined at its end. Sends the worker as much of the body as that takes. */
    async next(request: WorkerRequest): Promise<FramePart | undefined> {
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

/** Reads a body in chunks large enough to send to a worker. */
export interface BodyReader {
  /** Returns the next chunk, in a separate buffer; undefined at the end of the body. */
  next(): Promise<BodyChunk | undefined>;
  /** Starts at the beginning of the body again. Only for a body in a file. */
  restart(): void;
  /** Closes the body. */
  close(): void;
}

/** Smaller chunks are combined to this size, larger ones are split into at most `MAX_CHUNK_BYTES`. */
const MIN_CHUNK_BYTES = 1 << 18;
const MAX_CHUNK_BYTES = 1 << 20;

/** Creates a reader that stops waiting for the body when the signal is aborted. */
export function createBodyReader(body: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): BodyReader {
  const iterator = body[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array(0);
  let isDone = false;

  async function nextChunk(): Promise<Uint8Array | undefined> {
    const result = await abortable(iterator.next(), signal);
    if (result.done !== true) return result.value;
    isDone = true;
    return undefined;
  }

  return {
    async next() {
      const gathered: Uint8Array[] = [];
      let size = 0;
      while (size < MIN_CHUNK_BYTES && (rest.length > 0 || !isDone)) {
        const chunk = rest.length > 0 ? rest : await nextChunk();
        if (chunk === undefined) break;
        const part = chunk.subarray(0, MAX_CHUNK_BYTES - size);
        rest = chunk.subarray(part.length);
        gathered.push(part);
        size += part.length;
      }
      return size === 0 ? undefined : { kind: 'chunk', bytes: join(gathered, size) };
    },
    restart() {
      throw new Error('A decoder asked to restart a body that can only be read once.');
    },
    close() {
      if (isDone) return;
      isDone = true;
      // Do not wait: a body that awaits bytes handles the return only after they arrive.
      void Promise.resolve(iterator.return?.()).catch(() => undefined);
    },
  };
}

/** The reader of a body that was sent with the first request. */
export const NO_MORE: BodyReader = {
  next: async () => undefined,
  restart() {
    throw new Error('A decoder asked to restart a body that it has as a whole.');
  },
  close: () => undefined,
};

/** Creates a reader that does not read the file, but reports how many bytes it has. */
export function createFileReader(file: FileBody, signal: AbortSignal | undefined): BodyReader {
  let size = 0;
  let at = 0;
  return {
    async next() {
      if (at === size) size = await abortable(file.grown(at), signal);
      if (at === size) return undefined;
      at = Math.min(at + MAX_CHUNK_BYTES, size);
      return { kind: 'grown', bytes: at };
    },
    restart() {
      at = 0;
    },
    close: () => undefined,
  };
}

function join(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

async function abortable<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return promise;
  const aborted = withResolvers<never>();
  const stopListening = onAbort(signal, () => aborted.reject(cancelledUpload(signal.reason)));
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    stopListening();
  }
}
