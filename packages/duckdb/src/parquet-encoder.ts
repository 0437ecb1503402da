import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@svc/errors';
import type { ParquetEncoder } from '@svc/frames';
import { hasCode } from './durable-files.ts';
import type { FrameFiles, WriteOptions } from './frame-files.ts';

/** Options of `createParquetEncoder`. */
export interface ParquetEncoderOptions {
  /** Where a file is while it is being written, in a folder that nobody else can read. */
  readonly directory: string;
  /** How it is compressed. Default zstd, level 3. */
  readonly compression?: Pick<WriteOptions, 'compression' | 'level'>;
}

/** The end of a Parquet file says where everything is, so that it is written whole before the first byte is sent. */
const CHUNK_BYTES = 256 * 1024;

/** Writes frames as Parquet files, by the child of these files. */
export function createParquetEncoder(files: FrameFiles, options: ParquetEncoderOptions): ParquetEncoder {
  const { directory, compression = { compression: 'zstd', level: 3 } } = options;
  return async function* encodeParquet(stream, signal) {
    const file = await writeUnnamed(directory, (path) => files.write(path, stream, { ...compression, signal })).catch(
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

/** A file without a name: the system removes it once it is closed, also when this process is killed. */
async function writeUnnamed(directory: string, write: (path: string) => Promise<unknown>): Promise<FileHandle> {
  const folder = await mkdtemp(join(directory, 'svc-export-'));
  try {
    const path = join(folder, 'frame.parquet');
    await write(path);
    return await open(path, 'r');
  } finally {
    await rm(folder, { recursive: true, force: true });
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
    hint: 'Ask for fewer rows or columns, for another format, or give the temporary directory more space.',
    cause: error,
  });
}
