import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode, syncDirectory } from './durable-files.ts';
import { onceAtATime } from './once-at-a-time.ts';

/**
 * Creates a directory and its missing parents, and flushes each new name. Node's recursive `mkdir` loops forever if
 * creating fails with ENOENT, as it does below /proc. A second caller waits for the first: the directory may exist
 * already, but its name is not flushed yet.
 */
export const makeDirectory: (path: string) => Promise<void> = onceAtATime(makeWithParents);

async function makeWithParents(path: string): Promise<void> {
  try {
    await makeOne(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    await makeDirectory(dirname(path));
    await makeOne(path);
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (await isDirectory(path)) return;
    throw error;
  }
  await syncDirectory(dirname(path));
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
