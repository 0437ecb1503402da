import { ServiceError } from '@svc/errors';
import type { Decoders, FileUpload, FrameStream, PutSource } from '@svc/frames';
import type { FrameSource } from '../files/frame-files.ts';
import { createIncomingFile, type IncomingFile } from './incoming-file.ts';
import { isBrokenByAnother } from '../engine/child-errors.ts';
import type { TenantFolder } from './catalogue/tenant-folder.ts';

/** Rows that are all here: batches, or a file that DuckDB reads. */
export type ReceivedRows = FrameStream | FrameSource;

/** What an upload is received with. */
export interface Receiving {
  readonly decoders: Decoders | undefined;
  readonly folder: TenantFolder;
  readonly signal: AbortSignal | undefined;
}

/**
 * Takes the bytes of an upload to a file, does something with its rows and removes the file. So an upload may be of any
 * size, and one that comes slowly holds neither a decoder nor DuckDB. Of one that comes fast the rows are worked on while
 * they come, and `work` is begun again in the rare case that it turns slow, or that another request breaks the engine.
 */
export async function withReceived<T>(
  source: PutSource,
  { decoders, folder, signal }: Receiving,
  work: (rows: ReceivedRows) => Promise<T>,
): Promise<T> {
  if (!('format' in source)) return work(source);
  const path = folder.unfinishedPath();
  const file = createIncomingFile(source.body, path, { signal });

  async function attempt(upload: FileUpload): Promise<T> {
    const done = new AbortController();
    const signals = signal === undefined ? [done.signal] : [done.signal, signal];
    try {
      return await work(fileOf(upload, path) ?? (await decoded(upload, file, decoders, AbortSignal.any(signals))));
    } finally {
      // A write that failed has not read its rows, which hold a decoder until it is told.
      done.abort(new ServiceError('cancelled', 'The upload was given up.'));
    }
  }

  try {
    if (source.format === 'arrow' && (await file.isFast())) {
      try {
        return await attempt(source);
      } catch (error) {
        // Who still sends would not hear of it.
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

/** Whether the engine refused the rows because another request had broken it: a new one may take them. */
function isRefusedForAnother(error: unknown): boolean {
  return error instanceof ServiceError && isBrokenByAnother(error.cause);
}

/** A file that DuckDB reads; undefined where it does not. */
function fileOf(upload: FileUpload, path: string): FrameSource | undefined {
  if (upload.format === 'csv') return { kind: 'csv', path, ...upload.options };
  return upload.format === 'parquet' ? { kind: 'parquet', path, isTemporary: true } : undefined;
}

async function decoded(
  { format }: FileUpload,
  file: IncomingFile,
  decoders: Decoders | undefined,
  signal: AbortSignal,
): Promise<FrameStream> {
  if (decoders === undefined || format === 'csv' || format === 'parquet') {
    throw new ServiceError('unsupported_media_type', `This store has no decoder for ${format}.`);
  }
  return decoders.decode(format, file, { signal });
}
