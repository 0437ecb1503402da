import type { ColumnInfo } from './column-types.ts';
import type { UploadFormat } from './encoding.ts';
import type { FrameStream } from './frame-stream.ts';
import type { Handle } from './handle.ts';

/** Which frame: a handle belongs to a tenant, the same handle of two tenants is two frames. */
export interface FrameRef {
  readonly tenant: string;
  readonly handle: Handle;
}

/** What is known of a frame without reading it. */
export interface FrameInfo {
  readonly handle: Handle;
  readonly rows: number;
  /** Bytes the frame occupies where it is kept. */
  readonly bytes: number;
  readonly columns: readonly ColumnInfo[];
  readonly created: Date;
  /** Changes with every put, and orders them: a later version of a handle sorts after an earlier one. */
  readonly version: string;
  /** When the frame ends by itself; null = never. */
  readonly expires: Date | null;
  /** Where the frame is kept. */
  readonly tier: 'memory' | 'disk';
}

/** Which part of a frame to read. */
export interface ReadOptions {
  /** Rows to skip. Default 0. */
  readonly offset?: number;
  /** Rows to return at the most. Default: all. */
  readonly limit?: number;
  /** Columns to return, in this order. Default: all. An unknown one is `invalid_argument`. */
  readonly columns?: readonly string[];
  /** Allow the store to reuse buffers: each batch is valid until the next `next()`. Default false. */
  readonly reuseBuffers?: boolean;
  /** Ends the read. */
  readonly signal?: AbortSignal;
}

/** A frame opened for reading: bound to the version it was, whatever happens to its handle, until it is closed. */
export interface OpenFrame {
  readonly info: FrameInfo;
  read(options?: ReadOptions): FrameStream;
  close(): void;
}

/** Conditions and life of a put. */
export interface PutOptions {
  /** Put only where the handle is free, else `handle_exists`. */
  readonly ifAbsent?: boolean;
  /** Put only where there is a frame, else `version_conflict`. */
  readonly ifPresent?: boolean;
  /** Put only over this version, else `version_conflict`. */
  readonly ifVersion?: string;
  /** Seconds until the frame ends by itself. Default: never. */
  readonly ttlSeconds?: number;
  /** Gives the put up; the frame stays what it was. */
  readonly signal?: AbortSignal;
}

/** Conditions and life of an append. */
export interface AppendOptions extends PutOptions {
  /** Whether columns that the rows lack are null, where they may be in the frame; else they are `invalid_data`. Default false. */
  readonly missingAsNull?: boolean;
}

/** How a CSV file is to be read, where its reader should not find out by itself. */
export interface CsvOptions {
  /** Whether the first line has the names of the columns. */
  readonly header?: boolean;
  /** What stands between two values. */
  readonly delimiter?: string;
  /** Names of all columns in order, with their types (`LONG`) or without. */
  readonly columns?: readonly { readonly name: string; readonly type?: string }[];
}

/** The bytes of a frame in a format that a store reads by itself. */
export type FileUpload =
  | { readonly format: 'csv'; readonly body: AsyncIterable<Uint8Array>; readonly options?: CsvOptions }
  | { readonly format: Exclude<UploadFormat, 'csv'>; readonly body: AsyncIterable<Uint8Array> };

/** The rows of a put or append: batches, or the bytes of a file. */
export type PutSource = FrameStream | FileUpload;

/** What a put did. */
export interface PutResult {
  readonly info: FrameInfo;
  /** True where the handle was free before. */
  readonly created: boolean;
}

/** Which frames to list: those of a tenant, sorted by handle. */
export interface ListOptions {
  /** Only handles that begin with this. */
  readonly prefix?: string;
  /** Only handles that sort after this: the last one of the page before. */
  readonly after?: string;
  /** At most so many. Default: all. */
  readonly limit?: number;
}

/** What a store holds, over all tenants. */
export interface StoreUsage {
  readonly frames: number;
  /** Bytes of memory, frames that were replaced or dropped while being read included. */
  readonly bytes: number;
  /** Bytes that are left for further frames. */
  readonly freeBytes: number;
}

/** Something that keeps a store, right now, from doing what it promises. */
export interface StoreFault {
  /**
   * `damaged_frame`: the file of one frame is not what was written; every other frame is fine. `cannot_write`: every put
   * would fail. `not_responding`: the store neither reads nor writes.
   */
  readonly kind: 'damaged_frame' | 'cannot_write' | 'not_responding';
  /** One sentence for operators, without a path. */
  readonly message: string;
  /** The damaged frame. */
  readonly tenant?: string;
  readonly handle?: string;
}

/**
 * Keeps frames. Every change is all or nothing; what was acknowledged stays until it is dropped, replaced or expired;
 * a read that has begun finishes on the version it began with.
 */
export interface Store {
  /** The formats of bodies that it reads by itself; a put of another one is `unsupported_media_type`. */
  readonly fileFormats: readonly UploadFormat[];
  /** Puts or replaces a frame. A source that is not read to its end, because the put failed, is left to the caller. */
  put(ref: FrameRef, source: PutSource, options?: PutOptions): Promise<PutResult>;
  /**
   * Adds rows to the end of a frame, or makes one of them where there is none. The columns must be those of the frame by
   * name, in any order; values may come in another type where they stay exactly the same; else `invalid_data`. Without
   * `ttlSeconds` the frame ends when it would have. Appends to one frame at once all end up in it.
   */
  append(ref: FrameRef, source: PutSource, options?: AppendOptions): Promise<PutResult>;
  open(ref: FrameRef): Promise<OpenFrame | undefined>;
  describe(ref: FrameRef): Promise<FrameInfo | undefined>;
  list(tenant: string, options?: ListOptions): Promise<readonly FrameInfo[]>;
  /** Lets the frame end after so many seconds from now, or (null) never. Undefined: there is no such frame. */
  expire(ref: FrameRef, ttlSeconds: number | null): Promise<FrameInfo | undefined>;
  /** False: there was no such frame. */
  drop(ref: FrameRef): Promise<boolean>;
  usage(): Promise<StoreUsage>;
  /** What is wrong now; empty when all is well. Must be cheap and must not fail: health checks call it. */
  faults(): Promise<readonly StoreFault[]>;
  close(): Promise<void>;
}
