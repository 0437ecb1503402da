import { ServiceError } from '@svc/errors';
import type { CsvOptions, Decoders, FileBody, FileUpload, FrameStream, PutSource, RequestOrigin } from '@svc/frames';
import { readHead, type WriteReservation } from '@svc/frames/internal';
import type { Schema } from 'apache-arrow';
import { csvText } from '../files/csv-text.ts';
import type { FileSource } from '../files/frame-files.ts';
import { createIncomingFile } from './incoming-file.ts';
import { isBrokenByAnother } from '../engine/child-errors.ts';
import { withHeapRoom } from './memory/heap-room.ts';
import type { TenantFolder } from './catalogue/tenant-folder.ts';

/** The number in `Line 3 of the CSV file`, as errors about CSV files begin. */
const CSV_LINE = /^Line (\d+)(?= of the CSV file)/;

/** The rows of an upload: batches, or a file that DuckDB reads. */
export type ReceivedRows = FrameStream | FileSource;

/** The parts of a store that receiving an upload needs. */
export interface Receiving {
  readonly decoders: Decoders | undefined;
  readonly folder: TenantFolder;
  readonly signal: AbortSignal | undefined;
  /** The request that sends the upload. */
  readonly origin?: RequestOrigin | undefined;
  /** The schema of the frame that the rows are appended to: JSON values are read as its types. */
  readonly addedTo?: Schema | undefined;
  /** Counts the bytes that are received. */
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

/** Aborts the signal when the work is done: rows that were not consumed occupy a decoder until they are cancelled. */
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
 * `work` starts over in the rare case that the upload gets slow, or that another request breaks the engine.
 */
async function withFile<T>(
  source: FileUpload,
  receiving: Receiving,
  work: (rows: ReceivedRows) => Promise<T>,
): Promise<T> {
  const { folder, signal, reservation } = receiving;
  const path = folder.unfinishedPath();
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
        // Receive the rest first: a client that is still sending would miss the error.
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

/** Whether the engine refused the rows because another request had broken it: a new engine may accept them. */
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
