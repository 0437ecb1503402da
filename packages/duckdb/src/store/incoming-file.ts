import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { FileBody } from '@svc/frames';

/** An upload on its way into a file. It can be read while it arrives; such a read fails if the upload gets slow. */
export interface IncomingFile extends FileBody {
  /** Resolves when the upload is complete, and rejects if it fails. */
  readonly whole: Promise<void>;
  /** Whether the upload is large and fast enough to read it while it arrives. Waits for the first bytes. */
  isFast(): Promise<boolean>;
  /** Whether a read has failed because the upload was too slow. */
  readonly wasTooSlow: boolean;
}

/** The least number of new bytes that is worth a message to a decoder. */
const READ_BYTES = 1 << 20;
/** Smaller uploads are not read while they arrive. */
const FIRST_BYTES = 8 << 20;
/** The share of its run time that a reader may wait for bytes, in addition to `maxWaitMs`. */
const MAX_WAIT_SHARE = 0.25;

/** Options of `createIncomingFile`. */
export interface IncomingFileOptions {
  readonly signal?: AbortSignal | undefined;
  /** The longest time that a reader may wait for bytes: meanwhile it occupies a decoder and DuckDB. Default 1000. */
  readonly maxWaitMs?: number;
  /** The time in which the first bytes of a fast upload arrive. Default 500. */
  readonly firstMs?: number;
}

/** Writes a body to a new file. */
export function createIncomingFile(
  body: AsyncIterable<Uint8Array>,
  path: string,
  { signal, maxWaitMs = 1000, firstMs = 500 }: IncomingFileOptions = {},
): IncomingFile {
  const incoming = receive(body, path, signal);
  let wasTooSlow = false;
  let firstAskedMs: number | undefined;
  let waitedMs = 0;

  /** Waits for the next bytes, within what is left of the waiting time of a reader that started at `beganMs`. */
  async function wait(beganMs: number): Promise<void> {
    const sinceMs = performance.now();
    const mayWaitMs = maxWaitMs + MAX_WAIT_SHARE * (sinceMs - beganMs) - waitedMs;
    if (mayWaitMs <= 0) {
      wasTooSlow = true;
      throw new Error('The upload is too slow to be read while it arrives.');
    }
    await incoming.news(mayWaitMs);
    waitedMs += performance.now() - sinceMs;
  }

  return {
    path,
    whole: incoming.whole,
    get wasTooSlow() {
      return wasTooSlow;
    },
    async isFast() {
      const startMs = performance.now();
      for (;;) {
        if (incoming.isWhole) return false;
        if (incoming.bytes >= FIRST_BYTES) return true;
        const leftMs = startMs + firstMs - performance.now();
        if (leftMs <= 0) return false;
        await incoming.news(leftMs);
      }
    },
    async grown(beyond) {
      firstAskedMs ??= performance.now();
      while (!incoming.isWhole && incoming.bytes < beyond + READ_BYTES) await wait(firstAskedMs);
      return incoming.bytes;
    },
  };
}

interface Incoming {
  readonly whole: Promise<void>;
  readonly isWhole: boolean;
  /** The number of bytes in the file. */
  readonly bytes: number;
  /** Resolves when there may be more bytes, or after `ms`. Rejects if the upload fails. */
  news(ms: number): Promise<void>;
}

function receive(body: AsyncIterable<Uint8Array>, path: string, signal: AbortSignal | undefined): Incoming {
  const writer = createWriteStream(path, { flags: 'wx' });
  const closed = new Promise<void>((resolve) => writer.once('close', () => resolve()));
  const waiting = new Set<() => void>();
  let end: { readonly failure?: unknown } | undefined;

  function announce(): void {
    for (const wake of waiting) wake();
  }
  async function* announced(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      yield chunk;
      announce();
    }
  }
  async function write(): Promise<void> {
    try {
      // No flush: only the frame made from the upload must be durable.
      await pipeline(announced(), writer, { ...(signal && { signal }) });
      end = {};
    } catch (error) {
      // A file that is still being opened would appear after its removal.
      await closed;
      // Prefer the reason of the abort to the error of the stream.
      end = { failure: signal?.aborted === true ? signal.reason : error };
      throw end.failure;
    } finally {
      announce();
    }
  }
  const whole = write();
  // Avoid an unhandled rejection; callers await `whole` themselves.
  whole.catch(() => undefined);

  return {
    whole,
    get isWhole() {
      return end !== undefined && !('failure' in end);
    },
    get bytes() {
      return writer.bytesWritten;
    },
    async news(ms) {
      if (end === undefined) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(wake, ms);
          function wake(): void {
            clearTimeout(timer);
            waiting.delete(wake);
            resolve();
          }
          waiting.add(wake);
        });
      }
      if (end !== undefined && 'failure' in end) throw end.failure;
    },
  };
}
