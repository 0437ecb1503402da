import { open, rename } from 'node:fs/promises';
import { type DirectorySync, hasCode, unlinkIfThere } from '@svc/objects/internal';

/**
 * Writes a tombstone: an empty file whose name says that a version and all before it are dropped. `unusedFrame` is the
 * file of the version, if it has no readers. On failure there is no tombstone: the next start would drop the frame.
 */
export async function writeTombstone(
  path: string,
  unusedFrame: string | undefined,
  sync: DirectorySync,
): Promise<void> {
  let undo = (): Promise<void> => unlinkIfThere(path);
  try {
    // An empty file is complete as soon as its name exists.
    await (await open(path, 'a')).close();
  } catch (error) {
    // A full disk may not have room for a new name, but a drop has to work to free space.
    if (unusedFrame === undefined || !hasCode(error, 'ENOSPC', 'EDQUOT')) throw error;
    await rename(unusedFrame, path);
    undo = () => rename(path, unusedFrame);
  }
  try {
    await sync();
  } catch (error) {
    await undo().catch(() => {});
    throw error;
  }
}
