import { forEachConcurrently } from '../catalogue/tenant-folder.ts';

/** Copies files with bounded concurrency. After a failure, no copy is running any more: the caller can remove them all. */
export async function forEachFile<T>(files: readonly T[], copy: (file: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  await forEachConcurrently(files, async (file) => {
    if (failures.length > 0) return;
    await copy(file).catch((error: unknown) => void failures.push(error));
  });
  if (failures.length > 0) throw failures[0];
}
