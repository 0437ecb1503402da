import type { CsvOptions, FrameStream, RequestOrigin } from '@svc/frames';
import type { Schema } from 'apache-arrow';
import type { GetPlan } from '../wire/column-plans.ts';
import type { CsvTable } from './csv/table.ts';
import type { UnnamedFiles } from '../disk/unnamed-files.ts';

/** A Parquet file, ours (with our schema in its metadata) or a foreign one. */
export interface ParquetSource {
  readonly kind: 'parquet';
  readonly path: string;
  /** True if `convert` may modify the file. It is removed afterwards. */
  readonly isTemporary?: true;
  /** True if we wrote the file, in a directory of ours. */
  readonly isOwn?: true;
}

/** A CSV file in UTF-8. Missing options are detected. */
export interface CsvSource extends Omit<CsvOptions, 'encoding' | 'skip'> {
  readonly kind: 'csv';
  readonly path: string;
  /** The schema of the frame for appended rows: the values are read in its types. */
  readonly addedTo?: Schema;
}

/** A file (or table) with a frame. A table is one of a DuckDB database file, opened read-only. */
export type FileSource =
  ParquetSource | CsvSource | { readonly kind: 'table'; readonly path: string; readonly table: string };

/** The parts of a frame: Parquet files of ours whose columns have the same names and types. Their rows follow each other. */
export interface PartsSource {
  readonly kind: 'parts';
  readonly parts: readonly FramePart[];
}

/** A file with some of the rows of a frame. */
export interface FramePart {
  readonly path: string;
  readonly size: PartSize;
}

/** The sizes of a part. */
export interface PartSize {
  readonly rows: number;
  readonly fileBytes: number;
  /** The size of the rows as Arrow, if it was recorded when the file was written. */
  readonly arrowBytes?: number | undefined;
}

/** What the rows of a frame are read from. */
export type FrameSource = FileSource | PartsSource;

/** The metadata of a source, known without reading its rows. */
export interface SourceInfo {
  /** The schema of the frame as a read returns it. */
  readonly schema: Schema;
  readonly rows: number;
  /** The size of the rows as Arrow, if it was recorded when the file was written. */
  readonly arrowBytes?: number;
  /** Set if the source was not written by `FrameFiles` and has no schema of ours. Pass it on to `read`. */
  readonly isForeign?: true;
  /** How to read the columns of a foreign file, if their types are not enough. Pass it on to `read`. */
  readonly foreignColumns?: readonly ForeignColumn[];
  /** Set if DuckDB would change values of a Parquet file: only `convert` can read it. */
  readonly needsCopy?: true;
  /** How a CSV file is read. Pass it on to `read`. */
  readonly csvTable?: CsvTable;
}

/** How to read a column of a foreign source: its name there, the SQL type to cast it to, and the plan for its values. */
export interface ForeignColumn {
  readonly name: string;
  readonly sqlType: string;
  /** The type in SQL of clients: with the zone of timestamps, even if they are read without it. Default: `sqlType`. */
  readonly viewType?: string;
  readonly get: GetPlan;
}

/** How a Parquet file is written. */
export interface WriteOptions {
  readonly compression: 'zstd' | 'snappy' | 'gzip' | 'lz4' | 'none';
  /** Only for zstd. */
  readonly level?: number;
  readonly signal?: AbortSignal;
  /** The writing request, if there is one. */
  readonly origin?: RequestOrigin;
}

/** How a source is converted into a Parquet file of ours. */
export interface ConvertOptions extends WriteOptions {
  /** True if a client sent the source: then size and time are limited, and long ones run one at a time. Default false. */
  readonly isUpload?: boolean;
}

/** A written Parquet file, flushed to disk. */
export interface WrittenFile extends SourceInfo {
  readonly arrowBytes: number;
  readonly fileBytes: number;
}

/** The part of a source to read. */
export interface ReadPart {
  readonly offset?: number;
  readonly limit?: number;
  /** Indexes of columns, in the order of the result. Default: all. */
  readonly columns?: readonly number[];
  /** Reuse one buffer: each batch is valid until the next `next()`. Default false. */
  readonly reuseBuffers?: boolean;
  readonly signal?: AbortSignal;
  /** The reading request, if there is one. */
  readonly origin?: RequestOrigin;
}

/** How a source is verified. */
export interface VerifyOptions {
  readonly again?: boolean;
  readonly signal?: AbortSignal;
}

/** How a source is decoded to a file. */
export interface DecodeOptions {
  readonly unnamed: UnnamedFiles;
  /** Called with the size before it grows. The file is not written if this rejects. */
  readonly onSize: (bytes: number) => Promise<void>;
  readonly signal: AbortSignal;
}

/** All rows of a source in an unnamed file, as the child has sent them. Reading it takes neither the child nor decoding. */
export interface DecodedFile {
  readonly bytes: number;
  /** Reads rows as `FrameFiles.read` does. A batch with other bytes than were written is an error. */
  read(part?: ReadPart): FrameStream;
  /** Frees the space of the file. Reads in progress fail. */
  close(): Promise<void>;
}

/**
 * Frames in files, read and written by DuckDB in a child process. A crash of the child fails the operations in flight
 * with `internal` (or `out_of_memory`), and the next operation starts a new child.
 */
export interface FrameFiles {
  /**
   * Writes a frame to a new Parquet file, in row groups for its size, with its schema in the metadata, and
   * flushes it to disk. On failure there is no file. The schema in the result is the one of a read: columns
   * with another stored type have that one in it (see `storedSchema`). A full disk is an error with the code
   * `ENOSPC`; an unstorable value is `invalid_data` with its row and column.
   */
  write(path: string, source: FrameStream, options: WriteOptions): Promise<WrittenFile>;
  /** Converts a source into a Parquet file of ours. `invalid_data` names the unreadable line and column. */
  convert(from: FileSource, path: string, options: ConvertOptions): Promise<WrittenFile>;
  /** Writes the rows of all parts into one Parquet file of ours, in order, after it has verified their checksums. */
  merge(from: PartsSource, info: SourceInfo, path: string, options: WriteOptions): Promise<WrittenFile>;
  /** Describes each source, or returns an error if it cannot be read. */
  describe(sources: readonly FileSource[]): Promise<readonly (SourceInfo | Error)[]>;
  /**
   * Compares the whole source with its checksums. A damaged one is `invalid_data`; one without checksums passes, with
   * `isChecked` false. `again` also verifies parts once more.
   */
  verify(source: FrameSource, options?: VerifyOptions): Promise<{ readonly isChecked: boolean }>;
  /**
   * Reads the rows of a described source, with backpressure. If the file has checksums, a batch arrives
   * only after its bytes were verified.
   */
  read(source: FrameSource, info: SourceInfo, part?: ReadPart): FrameStream;
  /** Writes all rows of a described source to an unnamed file: reads of it are much faster. */
  decode(source: FrameSource, info: SourceInfo, options: DecodeOptions): Promise<DecodedFile>;
  /** Lists the tables of a database file. Creates an empty file if there is none. */
  tables(path: string): Promise<readonly string[]>;
  /** False while the child process does not respond or cannot be started. Cheap, does not wait. */
  isResponding(): boolean;
  close(): Promise<void>;
}
