import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';

/** The names of the files in a folder, looked at again only when they may have changed. */
export type FolderListing = () => Promise<readonly string[]>;

/** A folder changed so lately can change again without its time being another one: file systems count in steps. */
const SETTLED_MS = 2000;

/** The names of the files in the folder at `path` that `isWanted`; none where there is no such folder. */
export function createFolderListing(path: string, isWanted: (name: string) => boolean): FolderListing {
  let seen: { readonly stamp: string; readonly names: readonly string[] } | undefined;
  return async () => {
    const folder = await stat(path, { bigint: true }).catch(() => undefined);
    if (folder === undefined) return [];
    const stamp = `${folder.ino} ${folder.mtimeNs}`;
    if (seen?.stamp === stamp) return seen.names;
    const isSettled = Date.now() - Number(folder.mtimeMs) > SETTLED_MS;
    const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
    const names = entries.filter((entry) => canBeFile(entry) && isWanted(entry.name)).map(({ name }) => name);
    seen = isSettled ? { stamp, names } : undefined;
    return names;
  };
}

/** What a link leads to can become another thing without the folder changing, and some file systems tell nothing. */
function canBeFile(entry: Dirent): boolean {
  const isOther = entry.isFIFO() || entry.isSocket() || entry.isBlockDevice() || entry.isCharacterDevice();
  return !entry.isDirectory() && !isOther;
}
