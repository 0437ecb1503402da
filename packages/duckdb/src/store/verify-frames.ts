import type { Handle } from '@svc/frames';
import { isDamage } from './store-errors.ts';
import type { StoreParts } from './store-parts.ts';
import type { StoredFrame } from './catalogue/stored-frame.ts';

/** The result of comparing the files of a frame with their checksums. */
export interface FrameVerdict {
  readonly tenant: string;
  readonly handle: Handle;
  /** The first file that is not intact, else the one that makes the version. */
  readonly path: string;
  /** `unchecked`: a file can be read, but has no checksums. `unreadable`: it could not be compared. */
  readonly state: 'intact' | 'unchecked' | 'damaged' | 'unreadable';
  /** Why the file is not intact, if known. */
  readonly cause?: unknown;
}

/** Compares every frame that was put with its checksums, one at a time. */
export async function* verifyFrames(
  { catalogue, reader, isReadOnly }: Pick<StoreParts, 'catalogue' | 'reader' | 'isReadOnly'>,
  signal?: AbortSignal,
): AsyncGenerator<FrameVerdict, void> {
  const options = { again: true, ...(signal && { signal }) };

  async function verify(frame: StoredFrame): Promise<Omit<FrameVerdict, 'tenant' | 'handle'> | undefined> {
    catalogue.acquire(frame);
    const own = catalogue.folderOf(frame.tenant).framePath(frame);
    let path = own;
    try {
      await reader.describe(frame);
      let unchecked: string | undefined;
      for (const part of frame.source.kind === 'parts' ? frame.source.parts : []) {
        ({ path } = part);
        if (!(await reader.verify(frame, { ...options, part })).isChecked) unchecked ??= path;
      }
      return unchecked === undefined ? { path: own, state: 'intact' } : { path: unchecked, state: 'unchecked' };
    } catch (error) {
      signal?.throwIfAborted();
      const cause = error instanceof Error ? error.cause : error;
      if (isDamage(cause)) return { path, state: 'damaged', cause };
      // The holder of the directory does not know about this reader, and may have removed the file meanwhile.
      if (isReadOnly) await catalogue.rescan();
      return catalogue.find(frame) === frame ? { path, state: 'unreadable', cause } : undefined;
    } finally {
      catalogue.release(frame);
    }
  }

  for (const frame of catalogue.needed().current) {
    signal?.throwIfAborted();
    const found = await verify(frame);
    const { tenant, handle } = frame;
    if (found !== undefined) yield { tenant, handle, ...found };
  }
}
