import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode, syncDirectory } from './durable-files.ts';

/**
 * Makes a directory and those above it where they are not there, each a flushed name in the one above. Node's own way
 * never ends where nothing can be made and the system says that the path is not there, as below /proc.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (await isDirectory(path)) return;
    const parent = dirname(path);
    if (!hasCode(error, 'ENOENT') || (await isDirectory(parent))) throw error;
    await makeDirectory(parent);
    return makeDirectory(path);
  }
  return syncDirectory(dirname(path));
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
