import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { makeDirectory, unlinkIfThere } from '@svc/objects/internal';
import { unfinishedFileName } from './frame-names.ts';

/** The folder of one tenant, in which new files begin. */
export interface TenantFolder {
  readonly path: string;
  /** Creates the folder if it does not exist. */
  prepare(): Promise<void>;
  /** Returns the path for an unpublished file, which the next start sweeps. */
  unfinishedPath(): string;
  /** Removes a file that was never published. */
  discard(path: string): Promise<void>;
}

/** The folder at `path`. */
export function createTenantFolder(path: string): TenantFolder {
  return {
    path,
    prepare: () => makeDirectory(path),
    unfinishedPath: () => join(path, unfinishedFileName(randomBytes(12).toString('hex'))),
    discard: unlinkIfThere,
  };
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
