import type { Handle } from '@svc/frames';
import { isDamage } from './store-errors.ts';
import type { StoreParts } from './store-parts.ts';
import type { StoredFrame } from './catalogue/stored-frame.ts';

/** The result of comparing the file of a frame with its checksums. */
export interface FrameVerdict {
  readonly tenant: string;
  readonly handle: Handle;
  readonly path: string;
  /** `unchecked`: the file can be read, but has no checksums. `unreadable`: it could not be compared. */
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

  async function verify(frame: StoredFrame): Promise<Pick<FrameVerdict, 'state' | 'cause'> | undefined> {
    catalogue.acquire(frame);
    try {
      await reader.describe(frame);
      const { isChecked } = await reader.verify(frame, options);
      return { state: isChecked ? 'intact' : 'unchecked' };
    } catch (error) {
      signal?.throwIfAborted();
      const cause = error instanceof Error ? error.cause : error;
      if (isDamage(cause)) return { state: 'damaged', cause };
      // The holder of the directory does not know about this reader, and may have removed the file meanwhile.
      if (isReadOnly) await catalogue.rescan();
      return catalogue.find(frame) === frame ? { state: 'unreadable', cause } : undefined;
    } finally {
      catalogue.release(frame);
    }
  }

  for (const frame of catalogue.needed().current) {
    signal?.throwIfAborted();
    const found = await verify(frame);
    const { tenant, handle, source } = frame;
    if (found !== undefined) yield { tenant, handle, path: source.path, ...found };
  }
}
