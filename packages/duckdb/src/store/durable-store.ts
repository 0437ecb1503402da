import type { Decoders, Store } from '@svc/frames';
import type { LockTimes } from '../disk/directory-lock.ts';
import type { FrameFiles, WriteOptions } from '../files/frame-files.ts';
import type { StoreProblem } from './catalogue/store-problem.ts';
import type { SqlFrames } from './sql-frames.ts';
import type { FrameVerdict } from './verify-frames.ts';

/** Options of `createDurableStore`. */
export interface DurableStoreOptions {
  /** Where the frames are kept, a folder for each tenant. It is made where it is not there. */
  readonly directory: string;
  /** Reads and writes the files. The store closes it. */
  readonly files: FrameFiles;
  /** Bytes of memory for frames that were put or read lately. Default 1 GiB; 0: none. */
  readonly cacheBytes?: number;
  /** How files are compressed. Default zstd, level 3. */
  readonly compression?: Pick<WriteOptions, 'compression' | 'level'>;
  /** A DuckDB database whose tables are read-only frames of the default tenant. Default: none. */
  readonly duckdbPath?: string;
  /**
   * Reads uploads of JSON, NDJSON and Arrow, and Arrow files that were put into the directory by hand. The store leaves it
   * open. Default: such uploads are not read, and such files are not frames.
   */
  readonly decoders?: Decoders;
  /** Whether only files in a tenant's own folder are its frames; else those in the directory are the default tenant's. Default false. */
  readonly hasTenants?: boolean;
  /** Opens the directory for reading alone, whoever holds it. Default false. */
  readonly isReadOnly?: boolean;
  /** Hears of what is wrong with single frames. Default: nobody. */
  readonly onProblem?: (problem: StoreProblem) => void;
  /** The clock. Default `Date.now`. */
  readonly now?: () => number;
  /** How the lock of the directory is kept. */
  readonly lockTimes?: LockTimes;
}

/** A store whose frames are files, over which `createSqlEngine` answers SQL. */
export interface DurableStore extends Store, SqlFrames {
  /** Compares the files of all frames that were put with their checksums, also of those that were verified before. */
  verify(signal?: AbortSignal): AsyncIterable<FrameVerdict>;
}
