import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@svc/errors';
import type { Decoders, FileUpload, FrameStream, PutSource } from '@svc/frames';
import type { FrameSource } from './frame-files.ts';
import type { TenantFolder } from './tenant-folder.ts';

/** Rows that are all here: batches, or a file that DuckDB reads. */
export type ReceivedRows = FrameStream | FrameSource;

/** What an upload is received with. */
export interface Receiving {
  readonly decoders: Decoders | undefined;
  readonly folder: TenantFolder;
  readonly signal: AbortSignal | undefined;
}

/** Files are read in pieces that are worth a trip to a decoder. */
const READ_BYTES = 1 << 20;

/**
 * Takes the bytes of an upload to a file, does something with its rows and removes the file. So an upload may be of any
 * size, and one that comes slowly holds neither a decoder nor DuckDB.
 */
export async function withReceived<T>(
  source: PutSource,
  { decoders, folder, signal }: Receiving,
  work: (rows: ReceivedRows) => Promise<T>,
): Promise<T> {
  if (!('format' in source)) return work(source);
  const path = folder.unfinishedPath();
  const done = new AbortController();
  try {
    await receive(source.body, path, signal);
    const file = fileOf(source, path);
    return await work(
      file ?? (await decoded(source, path, decoders, AbortSignal.any([done.signal, ...given(signal)]))),
    );
  } finally {
    // A write that failed has not read its rows, which hold a decoder until it is told.
    done.abort(new ServiceError('cancelled', 'The upload was given up.'));
    await folder.discard(path).catch(() => {});
  }
}

/** Only its rows must last, and those are flushed once they are a frame. */
async function receive(body: AsyncIterable<Uint8Array>, path: string, signal: AbortSignal | undefined): Promise<void> {
  const file = createWriteStream(path, { flags: 'wx' });
  const closed = new Promise<void>((resolve) => file.once('close', () => resolve()));
  try {
    await pipeline(body, file, { ...(signal && { signal }) });
  } catch (error) {
    // One that is still being opened would be there after it was removed.
    await closed;
    // The reason of who gave it up, not that of the stream.
    signal?.throwIfAborted();
    throw error;
  }
}

function given(signal: AbortSignal | undefined): AbortSignal[] {
  return signal === undefined ? [] : [signal];
}

/** A file that DuckDB reads; undefined where it does not. */
function fileOf(upload: FileUpload, path: string): FrameSource | undefined {
  if (upload.format === 'csv') return { kind: 'csv', path, ...upload.options };
  return upload.format === 'parquet' ? { kind: 'parquet', path } : undefined;
}

async function decoded(
  { format }: FileUpload,
  path: string,
  decoders: Decoders | undefined,
  signal: AbortSignal,
): Promise<FrameStream> {
  if (decoders === undefined || format === 'csv' || format === 'parquet') {
    throw new ServiceError('unsupported_media_type', `This store has no decoder for ${format}.`);
  }
  const read = (): AsyncIterable<Uint8Array> => createReadStream(path, { highWaterMark: READ_BYTES });
  return decoders.decode(format, read(), { reread: read, signal });
}
