import { constants, copyFile, stat, truncate } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { unlinkIfThere } from '../../disk/durable-files.ts';
import type { FileSource } from '../frame-files.ts';
import { readParquetFooter } from './parquet-footer.ts';

/**
 * Runs `work` with a source whose footer it may extend so that DuckDB changes no value. A Parquet file that needs this
 * but must not be modified is copied first, next to the new one. If `work` fails, a temporary file is restored: the next
 * attempt must see the original types.
 */
export async function withExactSource<T>(
  from: FileSource,
  path: string,
  work: (source: FileSource) => Promise<T>,
): Promise<T> {
  if (from.kind !== 'parquet') return work(from);
  if (from.isTemporary) return withSize(from.path, () => work(from));
  const footer = await readParquetFooter(from.path).catch((error: unknown) => {
    // The reader reports what is wrong with the file.
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

async function withSize<T>(path: string, work: () => Promise<T>): Promise<T> {
  const { size } = await stat(path);
  try {
    return await work();
  } catch (error) {
    await truncate(path, size);
    throw error;
  }
}
