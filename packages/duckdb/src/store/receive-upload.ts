import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { ServiceError } from '@svc/errors';
import type { CsvOptions, Decoders, FileBody, FileUpload, FrameStream, PutSource, RequestOrigin } from '@svc/frames';
import type { WriteReservation } from '@svc/frames/store';
import { readHead } from '@svc/frames/streams';
import type { Schema } from 'apache-arrow';
import { isBrokenByAnother } from '../child-link/child-errors.ts';
import { csvText } from '../files/csv/text.ts';
import type { FileSource } from '../files/frame-files.ts';
import type { TenantFolder } from './catalogue/tenant-folder.ts';

/** The number in `Line 3 of the CSV file`, as errors about CSV files begin. */
const CSV_LINE = /^Line (\d+)(?= of the CSV file)/;

/** The rows of an upload: batches, or a file for DuckDB. */
export type ReceivedRows = FrameStream | FileSource;

/** The parts of a store for receiving an upload. */
export interface Receiving {
  readonly decoders: Decoders | undefined;
  readonly folder: TenantFolder;
  readonly signal: AbortSignal | undefined;
  /** The request with the upload. */
  readonly origin?: RequestOrigin | undefined;
  /** For appends, the schema of the frame: JSON values are read as its types. */
  readonly addedTo?: Schema | undefined;
  /** Counts the received bytes. */
  readonly reservation?: WriteReservation | undefined;
}

/** Longer bodies go to a file. A file would cost more than the rows of a shorter one. */
const MAX_SHORT_BYTES = 64 * 1024;

/**
 * Runs `work` on the rows of an upload. A short one is decoded from memory; others are written to a temporary file, as an
 * upload can have any size, and a slow one occupies neither a decoder nor DuckDB.
 */
export async function withReceived<T>(
  source: PutSource,
  receiving: Receiving,
  work: (rows: ReceivedRows) => Promise<T>,
): Promise<T> {
  if (!('format' in source)) return work(source);
  receiving.reservation?.receive(source.bytes ?? 0);
  if (source.format === 'csv' || source.format === 'parquet') return withFile(source, receiving, work);
  let length = 0;
  const isLong = (chunk: Uint8Array): boolean => (length += chunk.length) > MAX_SHORT_BYTES;
  const { head, isWhole, all } = await readHead(source.body, isLong, receiving.signal);
  if (!isWhole) return withFile({ ...source, body: all }, receiving, work);
  const bytes = Buffer.concat(head);
  const run = (): Promise<T> =>
    withSignal(receiving.signal, async (signal) => work(await decoded(source, bytes, { ...receiving, signal })));
  return run().catch((error: unknown) => {
    if (!isRefusedForAnother(error)) throw error;
    return run();
  });
}

/** Aborts the signal when the work is done: unread rows occupy a decoder until they are cancelled. */
async function withSignal<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const done = new AbortController();
  try {
    return await work(AbortSignal.any(signal === undefined ? [done.signal] : [done.signal, signal]));
  } finally {
    done.abort(new ServiceError('cancelled', 'The upload was abandoned.'));
  }
}

/**
 * Writes an upload to a temporary file and runs `work` on its rows. Those of a fast one are processed while they arrive;
 * `work` starts over in the rare case of an upload that gets slow, or if another request breaks the engine.
 */
async function withFile<T>(
  source: FileUpload,
  receiving: Receiving,
  work: (rows: ReceivedRows) => Promise<T>,
): Promise<T> {
  const { folder, signal, reservation } = receiving;
  const path = await folder.newFile();
  const body = source.format === 'csv' ? csvText(source.body, source.options ?? {}) : source.body;
  const file = createIncomingFile(reservation?.isLimited === true ? counted(body, reservation) : body, path, {
    signal,
  });

  async function attempt(upload: FileUpload): Promise<T> {
    try {
      return await withSignal(signal, async (ending) =>
        work(fileOf(upload, path) ?? (await decoded(upload, file, { ...receiving, signal: ending }))),
      );
    } catch (error) {
      throw withSkippedLines(error, upload);
    }
  }

  try {
    if (source.format === 'arrow' && (await file.isFast())) {
      try {
        return await withHeapRoom(() => attempt(source));
      } catch (error) {
        // Receive the rest first: a sending client would miss the error.
        await file.whole;
        if (!file.wasTooSlow && !isRefusedForAnother(error)) throw error;
      }
    }
    await file.whole;
    return await attempt(source).catch((error: unknown) => {
      if (!isRefusedForAnother(error)) throw error;
      return attempt(source);
    });
  } finally {
    await folder.discard(path).catch(() => {});
  }
}

/** Counts the bytes of a body: it may be longer than it said, or have said nothing. */
async function* counted(
  body: AsyncIterable<Uint8Array>,
  reservation: WriteReservation,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    reservation.receive(bytes);
    yield chunk;
  }
}

/** True if the engine refused the rows because another request had broken it: a new engine may accept them. */
function isRefusedForAnother(error: unknown): boolean {
  return error instanceof ServiceError && isBrokenByAnother(error.cause);
}

/** Returns the upload as a file for DuckDB, or undefined if DuckDB cannot read its format. */
function fileOf(upload: FileUpload, path: string): FileSource | undefined {
  if (upload.format === 'csv') return csvSource(path, upload.options);
  return upload.format === 'parquet' ? { kind: 'parquet', path, isTemporary: true } : undefined;
}

/** The file is in UTF-8 and begins after the skipped lines. */
function csvSource(path: string, { encoding: _encoding, skip: _skip, ...options }: CsvOptions = {}): FileSource {
  return { kind: 'csv', path, ...options };
}

/** Counts the lines of the upload in an error about a line of the file. */
function withSkippedLines(error: unknown, upload: FileUpload): unknown {
  const skip = upload.format === 'csv' ? (upload.options?.skip ?? 0) : 0;
  if (skip === 0 || !(error instanceof ServiceError) || !CSV_LINE.test(error.message)) return error;
  const message = error.message.replace(CSV_LINE, (_, line: string) => `Line ${Number(line) + skip}`);
  return new ServiceError(error.code, message, { hint: error.hint, cause: error.cause });
}

async function decoded(
  upload: FileUpload,
  body: FileBody | Uint8Array,
  { decoders, signal, origin, addedTo }: Pick<Receiving, 'decoders' | 'signal' | 'origin' | 'addedTo'>,
): Promise<FrameStream> {
  if (decoders === undefined || upload.format === 'csv' || upload.format === 'parquet') {
    throw new ServiceError('unsupported_media_type', `This store has no decoder for ${upload.format}.`);
  }
  const rows = 'options' in upload ? upload.options : {};
  const context = { ...(signal && { signal }), ...(origin && { origin }) };
  return decoders.decode(upload.format, body, { ...context, ...(addedTo && { addedTo }), ...rows });
}

/** An upload on its way into a file. It can be read while it arrives; such a read fails if the upload gets slow. */
export interface IncomingFile extends FileBody {
  /** Resolves when the upload is complete, and rejects if it fails. */
  readonly whole: Promise<void>;
  /** True if the upload is large and fast enough to read it while it arrives. Waits for the first bytes. */
  isFast(): Promise<boolean>;
  /** True if a read has failed because the upload was too slow. */
  readonly wasTooSlow: boolean;
}

/** The least number of new bytes worth a message to a decoder. */
const READ_BYTES = 1 << 20;
/** Smaller uploads are not read while they arrive. */
const FIRST_BYTES = 8 << 20;
/** How long a reader may wait for bytes, as a share of its run time, in addition to `maxWaitMs`. */
const MAX_WAIT_SHARE = 0.25;

/** Options of `createIncomingFile`. */
export interface IncomingFileOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long a reader may wait for bytes: meanwhile it occupies a decoder and DuckDB. Default 1000. */
  readonly maxWaitMs?: number;
  /** The first bytes of a fast upload arrive within this time. Default 500. */
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

  /** Waits for the next bytes, within the rest of the waiting time of a reader started at `beganMs`. */
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
      // A file in the course of being opened would appear after its removal.
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

/** How much memory V8 may allocate between two full collections. */
const ROOM_BYTES = 128 * 1024 * 1024;

/** The number of running tasks. */
let running = 0;

/**
 * Runs a task with many large buffers. V8 counts their memory as growth of its heap, and lets the heap about
 * double: as it is small, a full collection would follow every 15 MB of buffers, and all of them would take longer than
 * the task. V8 takes the growth as a percentage: it is set here for the current size of the heap.
 */
export async function withHeapRoom<T>(task: () => Promise<T>): Promise<T> {
  running++;
  setGrowth(Math.round((100 * ROOM_BYTES) / getHeapStatistics().used_heap_size));
  try {
    return await task();
  } finally {
    // Not kept: V8 uses a code cache only with the flags it was written with.
    if (--running === 0) setGrowth(DEFAULT_GROWTH);
  }
}

const DEFAULT_GROWTH = 0;
/** For a large heap, V8 itself chooses a growth of up to this. */
const MIN_GROWTH = 300;
/** The heap may get larger during the task. */
const MAX_GROWTH = 1000;

function setGrowth(percent: number): void {
  const growth = percent < MIN_GROWTH ? DEFAULT_GROWTH : Math.min(percent, MAX_GROWTH);
  setFlagsFromString(`--heap-growing-percent=${growth}`);
}
