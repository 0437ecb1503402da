import type { Decoders, FrameRef, Store } from '@svc/frames';
import type { LockTimes } from '../disk/directory-lock.ts';
import type { FrameFiles, WriteOptions } from '../files/frame-files.ts';
import type { StoreProblem } from './catalogue/store-problem.ts';
import type { SqlFrames } from './sql-frames.ts';
import type { FrameVerdict } from './verify-frames.ts';

/** Options of `createDurableStore`. */
export interface DurableStoreOptions {
  /** The directory of the frames, with a folder for each tenant. It is created if it does not exist. */
  readonly directory: string;
  /** Reads and writes the files. The store closes it. */
  readonly files: FrameFiles;
  /** Bytes of memory for recently put or read frames. Default 1 GiB; 0: none. */
  readonly cacheBytes?: number;
  /** Bytes on disk for decoded frames that do not fit into memory, in `tempDirectory`. Default 0: none. */
  readonly diskCacheBytes?: number;
  /** The space in bytes that decoded frames leave free. Default 0. */
  readonly minFreeBytes?: number;
  /** How files are compressed. Default zstd, level 3. */
  readonly compression?: Pick<WriteOptions, 'compression' | 'level'>;
  /** The parent of a private folder for decoded frames and for files that are encoded for clients. Default: that of the system. */
  readonly tempDirectory?: string;
  /**
   * The bytes of all files together that are encoded for clients, and of all Parquet copies together of files of others.
   * Default 20 GiB.
   */
  readonly maxEncodedBytes?: number;
  /** The memory limit of the descriptions of frames, in bytes; others are read again on demand. Default 256 MiB. */
  readonly maxDescriptionBytes?: number;
  /** Above this number of parts, small parts of a frame are merged in the background. Default 64. */
  readonly mergeAbove?: number;
  /** A DuckDB database whose tables are read-only frames of the default tenant. Default: none. */
  readonly duckdbPath?: string;
  /**
   * Decodes uploads of JSON, NDJSON and Arrow, and such files that were copied into the directory. The store does not
   * close it. Default: such uploads are refused, and such files are not frames.
   */
  readonly decoders?: Decoders;
  /** The limit of a compressed file that was copied into the directory, decompressed, in bytes. Default 20 GiB. */
  readonly maxDecompressedBytes?: number;
  /** Whether there are tenants besides the default one: its SQL must not read the folders of the others. Default false. */
  readonly hasTenants?: boolean;
  /** Opens the directory read-only, even if another process holds it. Default false. */
  readonly isReadOnly?: boolean;
  /** Called with every frame that is removed because it has expired. Default: none. */
  readonly onExpired?: (frame: FrameRef) => void;
  /** Called with problems of single frames. Default: none. */
  readonly onProblem?: (problem: StoreProblem) => void;
  /** The clock. Default `Date.now`. */
  readonly now?: () => number;
  /** The timing of the directory lock. */
  readonly lockTimes?: LockTimes;
}

/** The state of the cache of frames, in memory and on disk. */
export interface FrameCacheState {
  readonly frames: number;
  readonly bytes: number;
  /** How many reads were of frames in memory, and how many of others. */
  readonly hits: number;
  readonly misses: number;
  /** The decoded frames on disk. */
  readonly disk: { readonly bytes: number; readonly hits: number; readonly misses: number };
}

/** A store whose frames are files, which `createSqlEngine` can query. */
export interface DurableStore extends Store, SqlFrames {
  readonly handles: SqlFrames['handles'];
  /**
   * Describes the newest frame that was put, which the first request after a start most often reads. False if there is
   * none.
   */
  describeNewest(): Promise<boolean>;
  /** Returns the state of the cache of frames. */
  cacheState(): FrameCacheState;
  /** Compares the files of all frames that were put with their checksums, including those that were verified before. */
  verify(signal?: AbortSignal): AsyncIterable<FrameVerdict>;
}
