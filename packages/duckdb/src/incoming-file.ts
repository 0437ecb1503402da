import { createWriteStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

/** The bytes of an upload on their way into a file. */
export interface IncomingFile {
  /** Resolves when all are there, and fails where they do not come. */
  readonly whole: Promise<void>;
  /** Whether there are many and they come so fast that it is worth reading them meanwhile; waits for the first ones. */
  isFast(): Promise<boolean>;
  /** The bytes from the start, as they come. Fails where whoever sends them turns out to be slow. */
  read(): AsyncIterable<Uint8Array>;
  /** Whether a read has failed because the bytes came too slowly. */
  readonly wasTooSlow: boolean;
}

/** Files are read in pieces that are worth a trip to a decoder. */
const READ_BYTES = 1 << 20;
/** Of fewer bytes it is not worth it. */
const FIRST_BYTES = 8 << 20;
/** So much of the time it takes a read may wait for bytes, beside `maxWaitMs`. */
const MAX_WAIT_SHARE = 0.25;

/** How bytes are waited for. */
export interface IncomingFileOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long a read may wait for bytes: it holds a decoder and DuckDB meanwhile. Default 1000. */
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

  /** Waits for the next bytes, in as much of the time since `beganMs` as a read may wait. */
  async function wait(beganMs: number, waitedMs: number): Promise<number> {
    const sinceMs = performance.now();
    const mayWaitMs = maxWaitMs + MAX_WAIT_SHARE * (sinceMs - beganMs) - waitedMs;
    if (mayWaitMs <= 0) {
      wasTooSlow = true;
      throw new Error('The bytes come too slowly to read them meanwhile.');
    }
    await incoming.news(mayWaitMs);
    return performance.now() - sinceMs;
  }

  return {
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
    async *read() {
      const file = await open(path);
      const beganMs = performance.now();
      let waitedMs = 0;
      let at = 0;
      try {
        while (!incoming.isWhole || at < incoming.bytes) {
          const ready = incoming.bytes - at;
          if (ready >= READ_BYTES || incoming.isWhole) {
            const piece = await readPiece(file, at, Math.min(ready, READ_BYTES));
            at += piece.length;
            yield piece;
          } else {
            waitedMs += await wait(beganMs, waitedMs);
          }
        }
      } finally {
        await file.close();
      }
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

async function readPiece(file: FileHandle, at: number, length: number): Promise<Uint8Array> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafeSlow(length), 0, length, at);
  if (bytesRead === 0) throw new Error('A file of an upload is shorter than what was written to it.');
  return buffer.subarray(0, bytesRead);
}
