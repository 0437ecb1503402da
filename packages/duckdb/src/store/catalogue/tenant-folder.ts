import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode, makeDirectory, unlinkIfThere } from '@svc/objects/internal';
import { type LaterDirectory, planPrivateDirectory } from '../../disk/private-directory.ts';
import { folderOfTenant, unfinishedFileName } from './frame-names.ts';

/** A folder of one tenant, in which new files begin. */
export interface TenantFolder {
  readonly path: string;
  /** Creates the folder if it does not exist. */
  prepare(): Promise<void>;
  /** Returns the path for a new file, once the folder exists. */
  newFile(): Promise<string>;
  /** Removes a file that was never published. */
  discard(path: string): Promise<void>;
}

/** Reserves the path of the private directory of this process in a directory of frames. Programs that read frames see it, too. */
export function planOwnDirectory(directory: string): LaterDirectory {
  return planPrivateDirectory(directory, '.process-', 0o777);
}

/** The folder of a tenant in the private directory of this process. No other process looks there. */
export function createOwnFolder(own: LaterDirectory, tenant: string): TenantFolder {
  const path = join(own.path, folderOfTenant(tenant));
  return createTenantFolder(path, async () => {
    await own.make();
    await mkdir(path).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error;
    });
  });
}

/** The folder at `path`. */
export function createTenantFolder(path: string, prepare = () => makeDirectory(path)): TenantFolder {
  return {
    path,
    prepare,
    async newFile() {
      await prepare();
      return unfinishedPath(path);
    },
    discard: unlinkIfThere,
  };
}

/** Returns the path for a file in a folder that is not published. */
export function unfinishedPath(folder: string): string {
  return join(folder, unfinishedFileName(randomBytes(12).toString('hex')));
}

/** The number of concurrent file operations: more would only wait for the same few threads. */
const AT_ONCE = 16;

/** Calls `work` for each item, with bounded concurrency. After a failure, no work is running any more, and no more begins. */
export async function forEachConcurrently<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (const item of rest) {
      if (failures.length > 0) return;
      await work(item).catch((error: unknown) => void failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
