import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { createYield } from '@svc/frames/internal';
import { hasCode } from '../../disk/durable-files.ts';

/** Lists the files in a folder by name. Returns the same map until the folder may have changed. */
export type FolderListing<File> = () => Promise<ReadonlyMap<string, File>>;

/** Timestamps are coarse: a folder that changed this recently can change again without a new timestamp. */
const SETTLED_MS = 2000;

/**
 * Creates a listing of the files at `path` whose names `parse` knows. A missing folder has none. A folder that cannot be
 * read is an error: without it, its frames would seem not to exist.
 */
export function createFolderListing<File>(
  path: string,
  parse: (name: string) => File | undefined,
): FolderListing<File> {
  const none = new Map<string, File>();
  let seen: { readonly stamp: string; readonly files: ReadonlyMap<string, File> } | undefined;
  return async () => {
    const folder = await ifThere(stat(path, { bigint: true }));
    if (folder === undefined) return none;
    const stamp = `${folder.ino} ${folder.mtimeNs}`;
    if (seen?.stamp === stamp) return seen.files;
    const isSettled = Date.now() - Number(folder.mtimeMs) > SETTLED_MS;
    const pause = createYield();
    const files = new Map<string, File>();
    for (const entry of (await ifThere(readdir(path, { withFileTypes: true }))) ?? []) {
      await pause();
      const file = canBeFile(entry) ? parse(entry.name) : undefined;
      if (file !== undefined) files.set(entry.name, file);
    }
    seen = isSettled ? { stamp, files } : undefined;
    return files;
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
