import { randomUUID } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@svc/errors';
import type { ParquetEncoder } from '@svc/frames';
import { hasCode, unlinkIfThere } from '../disk/durable-files.ts';
import type { FrameFiles, WriteOptions } from './frame-files.ts';
import { type LaterDirectory, planPrivateDirectory, sweepAbandoned } from '../disk/private-directory.ts';

/** Options of `createParquetEncoder`. */
export interface ParquetEncoderOptions {
  /** The parent of a private folder for temporary files, which is removed when the process ends. */
  readonly directory: string;
  /** Default zstd, level 3. */
  readonly compression?: Pick<WriteOptions, 'compression' | 'level'>;
}

/** The prefix of the names of export folders. */
const PREFIX = 'svc-export-';

const CHUNK_BYTES = 256 * 1024;

/**
 * Encodes frames as Parquet, in the child of `files`. A Parquet file has its footer at the end, so the whole file is
 * written to disk before the first byte is sent.
 */
export function createParquetEncoder(files: FrameFiles, options: ParquetEncoderOptions): ParquetEncoder {
  const { directory, compression = { compression: 'zstd', level: 3 } } = options;
  const folder = planPrivateDirectory(directory, PREFIX);
  // Remove folders of killed processes in the background. A directory that cannot be listed has none.
  sweepAbandoned(directory, new RegExp(`^${PREFIX}`)).catch(() => undefined);
  return async function* encodeParquet(stream, signal) {
    const file = await writeUnnamed(folder, (path) => files.write(path, stream, { ...compression, signal })).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        throw toExportError(error);
      },
    );
    try {
      yield* chunksOf(file, signal);
    } finally {
      await file.close();
    }
  };
}

/** Writes an unlinked file: the system removes it when it is closed, even if this process is killed. */
async function writeUnnamed(folder: LaterDirectory, write: (path: string) => Promise<unknown>): Promise<FileHandle> {
  await folder.make();
  const path = join(folder.path, `${randomUUID()}.parquet`);
  try {
    await write(path);
    return await open(path, 'r');
  } finally {
    await unlinkIfThere(path);
  }
}

async function* chunksOf(file: FileHandle, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; ;) {
    signal.throwIfAborted();
    const { bytesRead, buffer } = await file.read(new Uint8Array(CHUNK_BYTES), 0, CHUNK_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function toExportError(error: unknown): unknown {
  if (!hasCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG')) return error;
  return new ServiceError('out_of_disk', 'There is no space left on the disk to write the Parquet file.', {
    hint: 'Request fewer rows or columns, or another format, or give the temporary directory more space.',
    cause: error,
  });
}
