import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { hasCode } from '../../disk/durable-files.ts';

/** Lists the files in a folder. Reads the folder only if it may have changed. */
export type FolderListing = () => Promise<readonly string[]>;

/** Timestamps are coarse: a folder that changed this recently can change again without a new timestamp. */
const SETTLED_MS = 2000;

/**
 * Creates a listing of the files at `path` that pass `isWanted`. A missing folder has none. A folder that cannot be read
 * is an error: without it, its frames would seem not to exist.
 */
export function createFolderListing(path: string, isWanted: (name: string) => boolean): FolderListing {
  let seen: { readonly stamp: string; readonly names: readonly string[] } | undefined;
  return async () => {
    const folder = await ifThere(stat(path, { bigint: true }));
    if (folder === undefined) return [];
    const stamp = `${folder.ino} ${folder.mtimeNs}`;
    if (seen?.stamp === stamp) return seen.names;
    const isSettled = Date.now() - Number(folder.mtimeMs) > SETTLED_MS;
    const entries = (await ifThere(readdir(path, { withFileTypes: true }))) ?? [];
    const names = entries.filter((entry) => canBeFile(entry) && isWanted(entry.name)).map(({ name }) => name);
    seen = isSettled ? { stamp, names } : undefined;
    return names;
  };
}

/** Resolves with undefined if a file or folder does not exist. */
export async function ifThere<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** True for links, whose targets can change without the folder changing, and on file systems that report no kinds. */
function canBeFile(entry: Dirent): boolean {
  const isOther = entry.isFIFO() || entry.isSocket() || entry.isBlockDevice() || entry.isCharacterDevice();
  return !entry.isDirectory() && !isOther;
}
