import { constants, copyFile } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { unlinkIfThere } from './durable-files.ts';
import type { FrameSource } from './frame-files.ts';
import { readParquetFooter } from './parquet-footer.ts';

/** A Parquet file that DuckDB would change values of, and that is not ours to change, is copied first, beside the new one. */
export async function withExactSource<T>(
  from: FrameSource,
  path: string,
  work: (source: FrameSource) => Promise<T>,
): Promise<T> {
  if (from.kind !== 'parquet' || from.isTemporary) return work(from);
  const footer = await readParquetFooter(from.path).catch((error: unknown) => {
    // What is wrong with a file is said by who reads it.
    if (error instanceof ServiceError) throw error;
    return undefined;
  });
  if (footer?.isExact !== false) return work(from);
  const copy = `${path}.copy`;
  try {
    await copyFile(from.path, copy, constants.COPYFILE_FICLONE);
    return await work({ ...from, path: copy, isTemporary: true });
  } finally {
    await unlinkIfThere(copy).catch(() => {});
  }
}
