import { onAbort } from '@svc/errors';
import type { FileBody } from '../../encoding.ts';
import { cancelledUpload } from './cancelled-upload.ts';
import { withResolvers } from '../../with-resolvers.ts';
import type { BodyChunk } from './worker-messages.ts';

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
