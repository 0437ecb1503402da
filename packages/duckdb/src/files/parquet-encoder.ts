import type { ParquetEncoder } from '@svc/frames';
import type { FrameFiles, WriteOptions } from './frame-files.ts';
import { createUnnamedFiles, readRange, sweepUnnamedFiles, toExportError } from '../disk/unnamed-files.ts';

/** Options of `createParquetEncoder`. */
export interface ParquetEncoderOptions {
  /** The parent of a private folder for temporary files. The folder is removed when the process ends. */
  readonly directory: string;
  /** Default zstd, level 3. */
  readonly compression?: Pick<WriteOptions, 'compression' | 'level'>;
}

/**
 * Encodes frames as Parquet, in the child of `files`. A Parquet file has its footer at the end, so the whole file is
 * written to disk before the first byte is sent.
 */
export function createParquetEncoder(files: FrameFiles, options: ParquetEncoderOptions): ParquetEncoder {
  const { directory, compression = { compression: 'zstd', level: 3 } } = options;
  const unnamed = createUnnamedFiles(directory);
  sweepUnnamedFiles(directory);
  return async function* encodeParquet(stream, signal) {
    const file = await unnamed
      .create('parquet', (path) => files.write(path, stream, { ...compression, signal }))
      .catch((error: unknown) => {
        signal.throwIfAborted();
        throw toExportError(error, 'Parquet');
      });
    try {
      const { size } = await file.stat();
      yield* readRange(file, { start: 0, end: size }, { signal });
    } finally {
      await file.close();
    }
  };
}
