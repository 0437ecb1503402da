import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { Schema } from 'apache-arrow';
import { ulid } from 'ulid';
import type { RequestOrigin } from './call.ts';
import type { ColumnInfo, DeclaredColumn } from './column-types.ts';
import type { CsvEncoding, UploadFormat } from './encoding.ts';
import type { FrameStream } from './streams.ts';

declare const handleBrand: unique symbol;

/** The name of a frame inside a tenant: a string that passed `isHandle`. */
export type Handle = string & { readonly [handleBrand]: true };

/** The rule of a handle. */
export const HANDLE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** True if a text is a valid handle. */
export function isHandle(text: string): text is Handle {
  return HANDLE_PATTERN.test(text);
}

/** Validates a handle from a client. Throws `invalid_argument` if it is not valid. */
export function parseHandle(text: string): Handle {
  if (isHandle(text)) return text;
  throw new ServiceError('invalid_argument', `${quoted(text)} is not a valid handle.`, {
    hint: 'A handle has 1 to 128 letters, digits, dots, dashes and underscores, and begins with a letter or digit.',
  });
}

/** Creates a unique handle: `f-` and a ULID in lower case. Handles sort by creation time. */
export function createHandle(): Handle {
  return parseHandle(`f-${ulid().toLowerCase()}`);
}

/** Identifies a frame. Two tenants can use the same handle for different frames. */
export interface FrameRef {
  readonly tenant: string;
  readonly handle: Handle;
}

/** The metadata of a frame. */
export interface FrameInfo {
  readonly handle: Handle;
  readonly rows: number;
  /** The bytes the frame occupies in its tier. */
  readonly bytes: number;
  readonly columns: readonly ColumnInfo[];
  readonly created: Date;
  /** Changes with every put, append and rename, and when parts are merged. Later versions of a handle sort after earlier ones. */
  readonly version: string;
  /** When the frame expires; null: never. */
  readonly expires: Date | null;
  /** Where the frame is stored. */
  readonly tier: 'memory' | 'disk';
}

/** A frame in a list. Its rows and columns are null if the store has not read its file yet; `describe` reads it. */
export type ListedFrame = Omit<FrameInfo, 'columns' | 'rows'> &
  (Pick<FrameInfo, 'columns' | 'rows'> | { readonly columns: null; readonly rows: null });

/** Which part of a frame to read. */
export interface ReadOptions {
  /** Rows to skip. Default 0. */
  readonly offset?: number;
  /** The maximum number of rows. Default: all. */
  readonly limit?: number;
  /** The columns to return, in this order; an unknown name is `invalid_argument`. Default: all. */
  readonly columns?: readonly string[];
  /** Allow the store to reuse buffers: each batch is valid until the next `next()`. Default false. */
  readonly reuseBuffers?: boolean;
  /** Cancels the read. */
  readonly signal?: AbortSignal;
  /** The request that reads, for the log and traces. Default: none. */
  readonly origin?: RequestOrigin;
}

/** A format in which a store can provide a frame as a file; `arrow` is the IPC file format. */
export type FrameFileFormat = 'parquet' | 'arrow' | 'csv' | 'ndjson';

/** A range of bytes, from `start` up to but not including `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A frame as a file. Its bytes never change. */
export interface FrameFile {
  readonly bytes: number;
  /** Identifies the bytes. It begins with the version of the frame. */
  readonly version: string;
  /** Reads some of the bytes. Each chunk is valid until the next `next()`. */
  read(range: ByteRange, signal?: AbortSignal): AsyncGenerator<Uint8Array, void>;
  close(): void;
}

/** How a frame is opened as a file. */
export interface FrameFileOptions {
  /** Open the file only if that takes no encoding. Default false. */
  readonly mustExist?: boolean;
  /** Cancels the encoding, unless others wait for it. */
  readonly signal?: AbortSignal;
}

/** A frame opened for reading. It stays at its version until closed, even if its handle is replaced or dropped. */
export interface OpenFrame {
  readonly info: FrameInfo;
  read(options?: ReadOptions): FrameStream;
  /**
   * Opens the frame as a file in one of the store's `frameFileFormats`: the stored file itself, or one that is encoded
   * first and shared by concurrent requests. The file must be closed before the frame is. Undefined if it `mustExist` but
   * would have to be encoded.
   */
  file?(format: FrameFileFormat, options?: FrameFileOptions): Promise<FrameFile | undefined>;
  close(): void;
}

/** What the frames of a tenant may occupy together. What is undefined is not limited. */
export interface Quota {
  readonly maxBytes?: number | undefined;
  readonly maxFrames?: number | undefined;
}

/** Preconditions and expiry of a put. */
export interface PutOptions {
  /** Put only if the handle is free, else `handle_exists`. */
  readonly ifAbsent?: boolean;
  /** Put only if the frame exists, else `version_conflict`. */
  readonly ifPresent?: boolean;
  /** Put only if this is the current version, else `version_conflict`. */
  readonly ifVersion?: string;
  /** Seconds until the frame expires. Default: never. */
  readonly ttlSeconds?: number;
  /** Put only if the frames of the tenant, with all writes in progress, stay within it, else `quota_exceeded`. */
  readonly quota?: Quota | undefined;
  /** Cancels the put; the frame stays unchanged. */
  readonly signal?: AbortSignal;
  /** The request that writes, for the log and traces. Default: none. */
  readonly origin?: RequestOrigin;
}

/** Preconditions and expiry of an append. */
export interface AppendOptions extends PutOptions {
  /** Fill missing columns with nulls if they are nullable in the frame; else they are `invalid_data`. Default false. */
  readonly missingAsNull?: boolean;
}

/** How the rows of a text format (CSV, JSON, NDJSON) are read. */
export interface RowsOptions {
  /** The names of all columns in order, each with or without a type (`LONG`). Default: as in the data. */
  readonly columns?: readonly DeclaredColumn[];
}

/** The CSV dialect. What is not given is detected. */
export interface CsvOptions extends RowsOptions {
  /** True if the first line is a header with the column names. */
  readonly header?: boolean;
  /** The separator between values. */
  readonly delimiter?: string;
  /** Texts that mean null, unless they are in quotes. Default: only the empty text. */
  readonly nulls?: readonly string[];
  /** Default: UTF-8, or UTF-16 if there is its byte order mark. */
  readonly encoding?: CsvEncoding;
  /** The number of lines to skip before the header. Default 0. */
  readonly skip?: number;
  /** The `strftime` format of dates, in addition to `2024-12-31`: `%d/%m/%Y`. */
  readonly dateFormat?: string;
  /** The `strftime` format of timestamps, in addition to ISO 8601. */
  readonly timestampFormat?: string;
}

/** A frame as the bytes of a file, in a format the store reads. */
export type FileUpload = FileBytes &
  (
    | { readonly format: 'csv'; readonly body: AsyncIterable<Uint8Array>; readonly options?: CsvOptions }
    | {
        readonly format: 'json' | 'ndjson';
        readonly body: AsyncIterable<Uint8Array>;
        readonly options?: RowsOptions;
      }
    | { readonly format: 'arrow' | 'parquet'; readonly body: AsyncIterable<Uint8Array> }
  );

/** The size of an upload. */
interface FileBytes {
  /** The least length of the body, if known: one that is too long is refused before it is read. */
  readonly bytes?: number;
}

/** The rows of a put or append: batches, or the bytes of a file. */
export type PutSource = FrameStream | FileUpload;

/** The outcome of a put. */
export interface PutResult {
  readonly info: FrameInfo;
  /** True if the handle was free before. */
  readonly created: boolean;
  /** The rows that were put or appended. Default: all rows of the frame. */
  readonly rowsWritten?: number;
}

/** Selects the frames of a tenant to list, sorted by handle. */
export interface ListOptions {
  /** Only handles with this prefix. */
  readonly prefix?: string;
  /** Only handles that sort after this one: the last handle of the previous page. */
  readonly after?: string;
  /** The maximum number of frames. Default: all. */
  readonly limit?: number;
}

/** The usage of a store, over all tenants. */
export interface StoreUsage {
  readonly frames: number;
  /** Bytes of memory, including frames that were replaced or dropped but are still being read. */
  readonly bytes: number;
  /** Bytes available for more frames. */
  readonly freeBytes: number;
}

/** A current fault that keeps a store from working as it should. */
export interface StoreFault {
  /**
   * `damaged_frame`: the file of one frame is corrupt; other frames are not affected. `cannot_write`: every put would
   * fail. `not_responding`: the store neither reads nor writes. `low_space`: less space is free than the operator wants.
   * `out_of_files`: the process can open no more files and connections.
   */
  readonly kind: 'damaged_frame' | 'cannot_write' | 'not_responding' | 'low_space' | 'out_of_files';
  /** One sentence for operators, without file paths. */
  readonly message: string;
  /** The damaged frame. */
  readonly tenant?: string;
  readonly handle?: string;
}

/**
 * Stores frames. Every change is atomic. An acknowledged frame stays until it is dropped, replaced or expired. A read
 * that has started finishes on its version.
 */
export interface Store {
  /** The file formats the store reads; a put in another format is `unsupported_media_type`. */
  readonly fileFormats: readonly UploadFormat[];
  /** The formats in which an open frame can be read as a file. Default: none. */
  readonly frameFileFormats?: readonly FrameFileFormat[];
  /** Creates or replaces a frame. If the put fails, the caller must close a source that was not read to its end. */
  put(ref: FrameRef, source: PutSource, options?: PutOptions): Promise<PutResult>;
  /**
   * Appends rows to a frame, or creates it. The columns must match those of the frame by name, in any order. A value of
   * another type is converted if that is exact; else it is `invalid_data`. Without `ttlSeconds` the expiry stays
   * unchanged. Concurrent appends to one frame all succeed.
   */
  append(ref: FrameRef, source: PutSource, options?: AppendOptions): Promise<PutResult>;
  open(ref: FrameRef): Promise<OpenFrame | undefined>;
  describe(ref: FrameRef): Promise<FrameInfo | undefined>;
  /** Lists frames without reading their files: see `ListedFrame`. */
  list(tenant: string, options?: ListOptions): Promise<readonly ListedFrame[]>;
  /** Returns all handles, without reading the frames: one of them is suggested for a handle that does not exist. */
  handles?(tenant: string): Promise<readonly Handle[]>;
  /** Sets the expiry to `ttlSeconds` from now, or to never (null). Undefined if there is no such frame. */
  expire(ref: FrameRef, ttlSeconds: number | null): Promise<FrameInfo | undefined>;
  /**
   * Gives a frame another handle, which must be free, else `handle_exists`. This is a new version with the same rows and
   * expiry; no rows are copied. Undefined if there is no such frame.
   */
  rename(ref: FrameRef, handle: Handle): Promise<FrameInfo | undefined>;
  /** Returns false if there was no such frame. */
  drop(ref: FrameRef): Promise<boolean>;
  usage(): Promise<StoreUsage>;
  /** Returns the current faults; empty if there are none. Must be cheap and must not throw: health checks call it. */
  faults(): Promise<readonly StoreFault[]>;
  close(): Promise<void>;
}

/** A frame whose files are kept until it is released, even if the frame is dropped. */
export interface PinnedFrame {
  readonly handle: Handle;
  readonly version: string;
  readonly rows: number;
  /** The paths of Parquet files with the same columns, whose rows follow each other. */
  readonly paths: readonly string[];
  /** Where a copy of the directory has the same files. Default: `paths`. */
  readonly storedPaths?: readonly string[];
  /** The columns as the files have them, for readers other than the store: some types are stored in another form. */
  fileSchema(): Schema;
  release(): void;
}

/** The frame to pin. */
export interface PinOptions {
  readonly tenant: string;
  /** The name of a table: the handle, in any letter case. */
  readonly name: string;
}

/** The frames of a store as files, for engines that read files. */
export interface PinnableFrames {
  /** Pins the current version of a frame, or returns undefined if there is none. */
  pin(options: PinOptions): Promise<PinnedFrame | undefined>;
  /** The handles of a tenant's frames, sorted. */
  handles(tenant: string): Promise<readonly Handle[]>;
}
