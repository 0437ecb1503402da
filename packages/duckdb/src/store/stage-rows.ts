import { ServiceError } from '@svc/errors';
import type { FrameStream, PutOptions } from '@svc/frames';
import type { WriteReservation } from '@svc/frames/internal';
import type { RecordBatch } from 'apache-arrow';
import type { FrameFiles, WriteOptions, WrittenFile } from '../files/frame-files.ts';
import type { Filling } from './memory/hot-tier.ts';
import type { ReceivedRows } from './receive-upload.ts';
import { reserveWhileWriting } from './reserve-write.ts';
import type { StoredFrame } from './catalogue/stored-frame.ts';
import type { TenantFolder } from './catalogue/tenant-folder.ts';

/** Rows that are on disk but not published yet. */
export interface StagedRows {
  readonly path: string;
  readonly written: WrittenFile;
}

/** The parts of a store that staging needs. */
export interface Staging {
  readonly files: FrameFiles;
  readonly compression: Pick<WriteOptions, 'compression' | 'level'>;
}

/** Options of `stageRows`. */
export interface StageOptions extends Pick<PutOptions, 'origin' | 'signal'> {
  readonly filling?: Filling<StoredFrame> | undefined;
  /** Reserves the bytes of the file. */
  readonly reservation?: WriteReservation | undefined;
}

/** Writes rows to an unpublished file, and adds the batches to `filling`. On failure there is no file. */
export async function stageRows(
  { files, compression }: Staging,
  folder: TenantFolder,
  rows: ReceivedRows,
  { signal, origin, filling, reservation }: StageOptions,
): Promise<StagedRows> {
  signal?.throwIfAborted();
  const path = folder.unfinishedPath();
  const tapped = 'kind' in rows ? undefined : tapBatches(rows, filling, signal);
  const write = (stop: AbortSignal | undefined): Promise<WrittenFile> => {
    const options = { ...compression, ...(stop && { signal: stop }), ...(origin && { origin }) };
    if ('kind' in rows) return files.convert(rows, path, { ...options, isUpload: true });
    return files.write(path, tapped?.stream ?? rows, options);
  };
  const written = await reserveWhileWriting(reservation, path, signal, write).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw isQuota(error) ? error : (tapped?.failure() ?? error);
  });
  try {
    reservation?.resize(written.fileBytes);
    return { path, written };
  } catch (error) {
    await folder.discard(path).catch(() => {});
    throw error;
  }
}

function isQuota(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'quota_exceeded';
}

/** Wraps a stream and records its original error, which a writer may wrap. */
function tapBatches(
  source: FrameStream,
  filling: Filling<StoredFrame> | undefined,
  signal: AbortSignal | undefined,
): { readonly stream: FrameStream; failure(): unknown } {
  let failure: unknown;
  async function* batches(): AsyncGenerator<RecordBatch> {
    try {
      let isFilling = filling !== undefined;
      for await (const batch of source.batches) {
        signal?.throwIfAborted();
        isFilling = isFilling && filling !== undefined && (await filling.add(batch));
        yield batch;
      }
    } catch (error) {
      failure = error;
      throw error;
    }
  }
  return { stream: { schema: source.schema, batches: batches() }, failure: () => failure };
}
