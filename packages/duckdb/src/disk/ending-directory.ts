import { mkdtempSync, promises, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** A directory for this process alone, removed when the process ends. */
export interface PrivateDirectory {
  readonly path: string;
  /** Removes the directory and its contents. */
  remove(): Promise<void>;
}

/** Creates a directory that only this user can read. Directories that killed processes left behind stay. */
export function createEndingDirectory(parent: string, prefix: string): PrivateDirectory {
  const path = mkdtempSync(join(parent, prefix));
  endWithProcess(path);
  return { path, remove: () => removeEnding(path) };
}

/** The directories that exist now. */
const ending = new Set<string>();
let isEndWatched = false;

/** Removes a directory synchronously on exit: a process that exits in the middle of its work, as on Ctrl-C, cannot await. */
export function endWithProcess(path: string): void {
  ending.add(path);
  if (isEndWatched) return;
  isEndWatched = true;
  process.once('exit', () => {
    for (const left of ending) {
      try {
        // An engine that still runs may write into the directory, but not under the new name.
        renameSync(left, `${left}-ended`);
        rmSync(`${left}-ended`, { recursive: true, force: true });
      } catch {
        // The next process sweeps the directories that cannot be removed now.
      }
    }
  });
}

/** Removes such a directory now. */
export async function removeEnding(path: string): Promise<void> {
  await promises.rm(path, { recursive: true, force: true });
  ending.delete(path);
}
