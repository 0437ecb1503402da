import type { FrameStream, PutOptions } from '@svc/frames';
import type { RecordBatch } from 'apache-arrow';
import type { FrameFiles, WriteOptions, WrittenFile } from '../files/frame-files.ts';
import type { Filling } from './memory/hot-tier.ts';
import type { ReceivedRows } from './receive-upload.ts';
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

/** Writes rows to an unpublished file, and adds the batches to `filling`. On failure there is no file. */
export async function stageRows(
  { files, compression }: Staging,
  folder: TenantFolder,
  rows: ReceivedRows,
  options: PutOptions & { readonly filling?: Filling<StoredFrame> | undefined },
): Promise<StagedRows> {
  const { signal, filling } = options;
  signal?.throwIfAborted();
  const write = { ...compression, ...(signal && { signal }) };
  const path = folder.unfinishedPath();
  const tapped = 'kind' in rows ? undefined : tapBatches(rows, filling, signal);
  try {
    const written =
      'kind' in rows
        ? await files.convert(rows, path, { ...write, isUpload: true })
        : await files.write(path, tapped?.stream ?? rows, write);
    return { path, written };
  } catch (error) {
    signal?.throwIfAborted();
    throw tapped?.failure() ?? error;
  }
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
