import { stat } from 'node:fs/promises';
import type { FrameStream } from '@svc/frames';
import type { RecordBatch } from 'apache-arrow';
import type { StoredFrame } from '../catalogue/stored-frame.ts';
import { changedFile } from '../store-errors.ts';
import { versionOfFile } from '../../wire/file-version.ts';

/** Throws if a foreign file has changed since the frame was found: rows that were read may be of two versions. */
export async function checkUnchanged({ handle, source, version, isForeign }: StoredFrame): Promise<void> {
  if (!isForeign || source.kind === 'table' || source.kind === 'parts') return;
  const file = await stat(source.path, { bigint: true }).catch(() => undefined);
  if (file !== undefined && versionOfFile(file) === version) return;
  throw changedFile(handle);
}

/** Reads rows of a foreign file. Throws at their end, or if they cannot be read, if the file has changed meanwhile. */
export function whileUnchanged(frame: StoredFrame, { schema, batches }: FrameStream): FrameStream {
  async function* checked(): AsyncGenerator<RecordBatch> {
    try {
      yield* batches;
    } catch (error) {
      await checkUnchanged(frame);
      throw error;
    }
    await checkUnchanged(frame);
  }
  return { schema, batches: checked() };
}
