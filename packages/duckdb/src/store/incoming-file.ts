import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { FileBody } from '@svc/frames';

/** The bytes of an upload on their way into a file. Who reads them meanwhile fails where they turn out to come slowly. */
export interface IncomingFile extends FileBody {
  /** Resolves when all are there, and fails where they do not come. */
  readonly whole: Promise<void>;
  /** Whether there are many and they come so fast that it is worth reading them meanwhile; waits for the first ones. */
  isFast(): Promise<boolean>;
  /** Whether who read them has failed because they came too slowly. */
  readonly wasTooSlow: boolean;
}

/** So many more are worth a trip to a decoder. */
const READ_BYTES = 1 << 20;
/** Of fewer bytes it is not worth it. */
const FIRST_BYTES = 8 << 20;
/** So much of the time it takes who reads may wait for bytes, beside `maxWaitMs`. */
const MAX_WAIT_SHARE = 0.25;

/** How bytes are waited for. */
export interface IncomingFileOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long who reads may wait for bytes: that holds a decoder and DuckDB meanwhile. Default 1000. */
  readonly maxWaitMs?: number;
  /** In how long the first ones come where they come fast. Default 500. */
  readonly firstMs?: number;
}

/** Writes a body to a file that is not there yet. */
export function createIncomingFile(
  body: AsyncIterable<Uint8Array>,
  path: string,
  { signal, maxWaitMs = 1000, firstMs = 500 }: IncomingFileOptions = {},
): IncomingFile {
  const incoming = receive(body, path, signal);
  let wasTooSlow = false;
  let firstAskedMs: number | undefined;
  let waitedMs = 0;

  /** Waits for the next bytes, in as much of the time since `beganMs` as who reads may wait. */
  async function wait(beganMs: number): Promise<void> {
    const sinceMs = performance.now();
    const mayWaitMs = maxWaitMs + MAX_WAIT_SHARE * (sinceMs - beganMs) - waitedMs;
    if (mayWaitMs <= 0) {
      wasTooSlow = true;
      throw new Error('The bytes come too slowly to read them meanwhile.');
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
  /** How many are in the file. */
  readonly bytes: number;
  /** Resolves when there may be more, and after so many ms at the latest. Fails where the bytes do not come. */
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
      // Only the rows of an upload must last, and those are flushed once they are a frame.
      await pipeline(announced(), writer, { ...(signal && { signal }) });
      end = {};
    } catch (error) {
      // One that is still being opened would be there after it was removed.
      await closed;
      // The reason of who gave it up, not that of the stream.
      end = { failure: signal?.aborted === true ? signal.reason : error };
      throw end.failure;
    } finally {
      announce();
    }
  }
  const whole = write();
  // Whoever waits for it hears of the failure.
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
