import { ServiceError } from '@svc/errors';
import type { CsvOptions, DecodeOptions, Decoders, FileUpload, FrameStream, PutSource } from '@svc/frames';
import type { Schema } from 'apache-arrow';
import { csvText } from '../files/csv-text.ts';
import type { FileSource } from '../files/frame-files.ts';
import { createIncomingFile, type IncomingFile } from './incoming-file.ts';
import { isBrokenByAnother } from '../engine/child-errors.ts';
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
  /** The schema of the frame that the rows are appended to: JSON values are read as its types. */
  readonly addedTo?: Schema | undefined;
}

/**
 * Writes an upload to a temporary file and runs `work` on its rows. An upload can have any size, and a slow one occupies
 * neither a decoder nor DuckDB. The rows of a fast one are processed while they arrive; `work` starts over in the rare
 * case that the upload gets slow, or that another request breaks the engine.
 */
export async function withReceived<T>(
  source: PutSource,
  { decoders, folder, signal, addedTo }: Receiving,
  work: (rows: ReceivedRows) => Promise<T>,
): Promise<T> {
  if (!('format' in source)) return work(source);
  const path = folder.unfinishedPath();
  const body = source.format === 'csv' ? csvText(source.body, source.options ?? {}) : source.body;
  const file = createIncomingFile(body, path, { signal });

  async function attempt(upload: FileUpload): Promise<T> {
    const done = new AbortController();
    const signals = signal === undefined ? [done.signal] : [done.signal, signal];
    try {
      const options = { signal: AbortSignal.any(signals), ...(addedTo && { addedTo }) };
      return await work(fileOf(upload, path) ?? (await decoded(upload, file, decoders, options)));
    } catch (error) {
      throw withSkippedLines(error, upload);
    } finally {
      // A failed write has not consumed its rows, which occupy a decoder until they are cancelled.
      done.abort(new ServiceError('cancelled', 'The upload was abandoned.'));
    }
  }

  try {
    if (source.format === 'arrow' && (await file.isFast())) {
      try {
        return await attempt(source);
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
  file: IncomingFile,
  decoders: Decoders | undefined,
  options: DecodeOptions,
): Promise<FrameStream> {
  if (decoders === undefined || upload.format === 'csv' || upload.format === 'parquet') {
    throw new ServiceError('unsupported_media_type', `This store has no decoder for ${upload.format}.`);
  }
  const rows = 'options' in upload ? upload.options : {};
  return decoders.decode(upload.format, file, { ...options, ...rows });
}
