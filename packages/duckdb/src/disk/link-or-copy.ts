import { link, open } from 'node:fs/promises';
import { copyFlushed } from './copy-flushed.ts';
import { hasCode } from './durable-files.ts';

/** What systems report if a file cannot have another name: no hard links, too many of them, or another file system. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'];

/**
 * Gives a flushed file that never changes a second name: a hard link, or a flushed copy if the file system has no hard
 * links. The name is durable when its directory is flushed.
 */
export async function linkOrCopy(path: string, newPath: string): Promise<void> {
  try {
    await link(path, newPath);
  } catch (error) {
    if (!hasCode(error, ...NO_LINKS)) throw error;
    const file = await open(path, 'r');
    try {
      await copyFlushed(file, newPath);
    } finally {
      await file.close();
    }
  }
}
