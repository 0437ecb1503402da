import { randomBytes } from 'node:crypto';
import { type Dirent, readdirSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '@svc/objects/internal';
import { isHandle } from '@svc/frames';
import { parseOldName } from './format-1/old-names.ts';
import { FOREIGN_FORMATS, parseFileName } from './frame-names.ts';

/** The folder in a frame's folder with its log, as Delta Lake names it. */
export const LOG_FOLDER = '_delta_log';

/** The file in the folder of a log that names its newest checkpoint, as Delta Lake names it. */
export const LAST_CHECKPOINT = '_last_checkpoint';

/**
 * The name of the folder of a frame: its handle in lower case. A handle such as `a.csv` gets an `@`: a file of that name in
 * the tenant's folder is a frame `a`. So does `a.unfinished`, as objects have no such keys.
 */
export function folderOfHandle(handle: string): string {
  const key = handle.toLowerCase();
  return isForeignName(key) || key.endsWith('.unfinished') ? `${key}@` : key;
}

/** The handle in lower case of the frame in a folder. Undefined: no frame has such a folder. */
export function handleOfFolder(folder: string): string | undefined {
  const key = folder.endsWith('@') ? folder.slice(0, -1) : folder;
  return isHandle(key) && folderOfHandle(key) === folder ? key : undefined;
}

function isForeignName(name: string): boolean {
  return FOREIGN_FORMATS.some((format) => name.endsWith(`.${format}`));
}

/** A new name for a part of a version. */
export function partFileName(version: string): string {
  return `${version}-${randomBytes(4).toString('hex')}.parquet`;
}

const PART = /^[0-7][0-9A-HJKMNP-TV-Z]{25}-[0-9a-f]{8}\.parquet$/;

/** The names of the parts in the folder of a frame, needed or not. Synchronous: that of every frame is looked at once. */
export function partsIn(folder: string): readonly string[] {
  return namesIn(folder).filter((name) => PART.test(name));
}

/** The names in a folder. One that does not exist is empty. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

/** What a tenant's folder has. */
export interface TenantEntries {
  /** The handles, in lower case, of folders that may be those of frames. */
  readonly keys: string[];
  /** The paths of files that were never published. */
  readonly unfinished: readonly string[];
  /** True if it has files of frames as format 1 had them. */
  readonly isOld: boolean;
}

/** Lists the folder of a tenant. One that does not exist is empty. */
export async function listTenant(folder: string): Promise<TenantEntries> {
  const keys: string[] = [];
  const unfinished: string[] = [];
  let isOld = false;
  for (const entry of await entriesOf(folder)) {
    const key = handleOfFolder(entry.name);
    if (parseOldName(entry.name) !== undefined) isOld = true;
    else if (parseFileName(entry.name).kind === 'unfinished') unfinished.push(join(folder, entry.name));
    else if (key !== undefined && entry.isDirectory()) keys.push(key);
  }
  return { keys, unfinished, isOld };
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  });
}

/** Follows symbolic links, and asks on file systems that do not report kinds. */
export async function isFolder(entry: Dirent, parent: string): Promise<boolean> {
  if (entry.isDirectory() || entry.isFile()) return entry.isDirectory();
  return (await stat(join(parent, entry.name)).catch(() => undefined))?.isDirectory() ?? false;
}
