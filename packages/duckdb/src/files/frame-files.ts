import type { CsvOptions, FrameStream } from '@svc/frames';
import type { Schema } from 'apache-arrow';
import type { GetPlan } from '../wire/column-plans.ts';

/** A file (or table) that holds a frame. */
export type FrameSource =
  /** A Parquet file, ours (with our schema in its metadata) or another's. */
  | {
      readonly kind: 'parquet';
      readonly path: string;
      /** Whether `convert` may write to it, as to a file that is removed afterwards. */
      readonly isTemporary?: true;
      /** Whether we wrote it, and nobody else may have changed it. */
      readonly isOwn?: true;
    }
  /** A CSV file. Options that are not given are found out by looking at the file. */
  | ({
      readonly kind: 'csv';
      readonly path: string;
      /** The frame that its rows are to be added to: columns that are text there are text, whatever their values look like. */
      readonly addedTo?: Schema;
    } & CsvOptions)
  /** A table of a DuckDB database file, opened read-only. */
  | { readonly kind: 'table'; readonly path: string; readonly table: string };

/** What is known of a source without reading its rows. */
export interface SourceInfo {
  /** The schema of the frame that a read gives. */
  readonly schema: Schema;
  readonly rows: number;
  /** Bytes the rows take as Arrow, where it was written down when the file was made; else undefined. */
  readonly arrowBytes?: number;
  /** Set where the source was not written by `FrameFiles`, and so has no schema of ours. Keep it for `read`. */
  readonly isForeign?: true;
  /** How the columns of a Parquet file of others are read, where their types do not say it all. Keep it for `read`. */
  readonly foreignColumns?: readonly ForeignColumn[];
  /** Set where DuckDB would change values of a Parquet file: `convert` makes one of it that can be read. */
  readonly needsCopy?: true;
  /** What stands between the values, of a CSV file. Keep it for `read`. */
  readonly delimiter?: string;
}

/** How a column of a source of others is read: its name there, the type it is cast to, and what is done then. */
export interface ForeignColumn {
  readonly name: string;
  readonly sqlType: string;
  readonly get: GetPlan;
}

/** How a Parquet file is written. */
export interface WriteOptions {
  readonly compression: 'zstd' | 'snappy' | 'gzip' | 'lz4' | 'none';
  /** Of zstd alone. */
  readonly level?: number;
  readonly signal?: AbortSignal;
}

/** How a source becomes a Parquet file of ours. */
export interface ConvertOptions extends WriteOptions {
  /** Whether a client sent it: then its size and the time are bounded, and long ones take turns. Default false. */
  readonly isUpload?: boolean;
}

/** A Parquet file that was written and flushed to disk. */
export interface WrittenFile extends SourceInfo {
  readonly arrowBytes: number;
  readonly fileBytes: number;
}

/** Which part of a source to read. */
export interface ReadPart {
  readonly offset?: number;
  readonly limit?: number;
  /** Positions of columns, in the order they are wanted. Default: all. */
  readonly columns?: readonly number[];
  /** Reuse one buffer: each batch is valid until the next `next()`. Default false. */
  readonly reuseBuffers?: boolean;
  readonly signal?: AbortSignal;
}

/** How a source is verified. */
export interface VerifyOptions {
  readonly again?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Frames in files, read and written by DuckDB in a child process. A crash of the child fails the operations that were
 * running with `internal` (or `out_of_memory`), and the next one finds a new child.
 */
export interface FrameFiles {
  /**
   * Writes a frame to a new Parquet file, in row groups of 10 000 to 30 000 rows, with its schema in the metadata, and
   * flushes it to disk. On failure there is no file. The schema of the written file is that of the frame as it is read
   * again: columns that are not stored as they came have other types in it (see `storedSchema`). A full disk is an error
   * with the code `ENOSPC`; a value that cannot be stored is `invalid_data` with its row and column.
   */
  write(path: string, source: FrameStream, options: WriteOptions): Promise<WrittenFile>;
  /** Turns a source into a Parquet file of ours. `invalid_data` says the line and column of what cannot be read. */
  convert(from: FrameSource, path: string, options: ConvertOptions): Promise<WrittenFile>;
  /**
   * Writes the rows of several sources into one Parquet file of ours, in order. Their columns have the same names and
   * types; one is nullable where any of them is.
   */
  concat(from: readonly FrameSource[], path: string, options: WriteOptions): Promise<WrittenFile>;
  /** What each source holds, or why it cannot be read. */
  describe(sources: readonly FrameSource[]): Promise<readonly (SourceInfo | Error)[]>;
  /**
   * Compares a source with its checksums, all of it. One that is damaged is `invalid_data`; one that has no checksums
   * passes, and is not `isChecked`. `again`: also what was verified before.
   */
  verify(source: FrameSource, options?: VerifyOptions): Promise<{ readonly isChecked: boolean }>;
  /**
   * The rows of a source that was described before. Batches come only as fast as they are read. Rows of a file that has
   * checksums come only when the bytes they are made of match them.
   */
  read(source: FrameSource, info: SourceInfo, part?: ReadPart): FrameStream;
  /** The tables of a database file. A file that does not exist is made, empty. */
  tables(path: string): Promise<readonly string[]>;
  /** False while the child process does not answer, or cannot be started. Cheap, and does not wait. */
  isResponding(): boolean;
  close(): Promise<void>;
}
