import { readdir, stat } from 'node:fs/promises';

/** The names in a folder, looked at again only when they may have changed. */
export type FolderListing = () => Promise<readonly string[]>;

/** A folder changed so lately can change again without its time being another one: file systems count in steps. */
const SETTLED_MS = 2000;

/** The names in the folder at `path` that `isWanted`; none where there is no such folder. */
export function createFolderListing(path: string, isWanted: (name: string) => boolean): FolderListing {
  let seen: { readonly stamp: string; readonly names: readonly string[] } | undefined;
  return async () => {
    const folder = await stat(path, { bigint: true }).catch(() => undefined);
    if (folder === undefined) return [];
    const stamp = `${folder.ino} ${folder.mtimeNs}`;
    if (seen?.stamp === stamp) return seen.names;
    const isSettled = Date.now() - Number(folder.mtimeMs) > SETTLED_MS;
    const names = (await readdir(path).catch(() => [])).filter(isWanted);
    seen = isSettled ? { stamp, names } : undefined;
    return names;
  };
}
