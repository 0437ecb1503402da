import type { ServiceError } from '@svc/errors';
import { type ColumnInfo, columnInfo, type FrameInfo, type Handle } from '@svc/frames';
import type { Schema } from 'apache-arrow';
import { timeOfVersion } from './frame-versions.ts';
import type { FileSource, FramePart, PartSize, PartsSource, SourceInfo } from '../../files/frame-files.ts';

/** A foreign file that is converted to Parquet before its rows are read. */
export type ConvertedSource =
  | { readonly kind: 'json'; readonly path: string }
  | { readonly kind: 'ndjson'; readonly path: string }
  /** CSV that is compressed, or in UTF-16. */
  | { readonly kind: 'gzip_csv' | 'utf16_csv'; readonly path: string; readonly delimiter?: string };

/** A file or table that was not written by the store. */
export type ForeignSource = FileSource | ConvertedSource | { readonly kind: 'arrow'; readonly path: string };

const CONVERTED_KINDS: ReadonlySet<ContentSource['kind']> = new Set(['json', 'ndjson', 'gzip_csv', 'utf16_csv']);

/** Whether a source is converted before its rows are read. */
export function isConverted(source: ContentSource): source is ConvertedSource {
  return CONVERTED_KINDS.has(source.kind);
}

/** The rows of a version, as its entry lists them. */
export interface ListedRows {
  readonly parts: readonly FramePart[];
  /** See `schemaText`. It may differ from those in the files, but only in what does not change how they are read. */
  readonly schema: string;
}

/** The files or the table with the rows of a frame. */
export type ContentSource = ForeignSource | PartsSource;

/** The description of a frame's files. It never changes, and is read on first use. */
export interface FrameContents extends SourceInfo {
  readonly columns: readonly ColumnInfo[];
  readonly fileBytes: number;
}

/** One version of a frame. */
export interface StoredFrame {
  readonly tenant: string;
  readonly handle: Handle;
  readonly version: string;
  readonly created: Date;
  /** Without parts if the entry of the version could not be read. */
  source: ContentSource;
  /** The same parts under names that last as long as the version has readers. */
  pinned?: readonly FramePart[] | undefined;
  /** Whether the file was not written by the store. */
  readonly isForeign: boolean;
  expires: Date | null;
  contents: FrameContents | undefined;
  /** Whether the contents were known, and left memory to make room. */
  isForgotten?: true;
  /** Why a foreign file is malformed. Reading it again would fail again. */
  failure?: ServiceError;
  /** False if the file is JSON, but not an array. */
  isTable?: false;
  /** Whether a problem with the file was reported. */
  isReported?: true;
  /** The size of the files, if known. */
  fileBytes: number | undefined;
  /** The number of open readers. */
  readers: number;
}

/** The parts of a version. `contents`: undefined if they cannot be read. */
interface VersionParts extends Pick<StoredFrame, 'handle' | 'version'> {
  readonly parts: readonly FramePart[];
  readonly contents?: FrameContents;
}

/** A part that is published already, or a flushed file that is not. */
export type NextPart = FramePart | StagedPart;

/** A flushed file that becomes a part. */
export interface StagedPart {
  readonly from: string;
  readonly size: PartSize;
  /** True if the file keeps its former name, too. */
  readonly isKept?: true;
}

/** A version to publish. */
export interface NextVersion {
  readonly version: string;
  /** In order. */
  readonly parts: readonly NextPart[];
  readonly contents: FrameContents;
  readonly expires: Date | null;
  /** The version has the same rows as the one it replaces. */
  readonly isSame?: true;
  /** Called when the version is the current one, before anything else can see it. */
  readonly onCurrent?: (() => void) | undefined;
}

/** What a frame is acquired for. */
export type FrameUse = 'description' | 'rows';

/** The version that took the place of another. */
export interface Replacement {
  readonly successor?: StoredFrame;
  /** True if it has the same rows. */
  readonly isSame?: boolean;
}

/** Creates a version without readers that never expires. */
export function newFrame(tenant: string, { handle, version, parts, contents }: VersionParts): StoredFrame {
  return {
    tenant,
    handle,
    version,
    created: timeOfVersion(version),
    source: { kind: 'parts', parts },
    isForeign: false,
    expires: null,
    contents,
    fileBytes: contents?.fileBytes,
    readers: 0,
  };
}

/** Creates the description of a file. */
export function contentsOf(info: SourceInfo, fileBytes: number): FrameContents {
  return { ...info, columns: info.schema.fields.map(columnInfo), fileBytes };
}

/** Creates the description of several parts. */
export function contentsOfParts(schema: Schema, parts: readonly { readonly size: PartSize }[]): FrameContents {
  const sum = (of: (size: PartSize) => number): number => parts.reduce((total, { size }) => total + of(size), 0);
  const arrowBytes = sum((size) => size.arrowBytes ?? NaN);
  const info = { schema, rows: sum(({ rows }) => rows), ...(!Number.isNaN(arrowBytes) && { arrowBytes }) };
  return contentsOf(
    info,
    sum(({ fileBytes }) => fileBytes),
  );
}

/** Returns the metadata of a frame for clients. */
export function infoOf(
  frame: Pick<StoredFrame, 'handle' | 'created' | 'version' | 'expires'>,
  contents: FrameContents,
  isHot: boolean,
): FrameInfo {
  return {
    handle: frame.handle,
    rows: contents.rows,
    bytes: contents.fileBytes,
    columns: contents.columns,
    created: frame.created,
    version: frame.version,
    expires: frame.expires,
    tier: isHot ? 'memory' : 'disk',
  };
}

/** Whether a frame has expired. */
export function isExpired(frame: StoredFrame, now: number): boolean {
  return frame.expires !== null && frame.expires.getTime() <= now;
}

/** The source with the names under which a reader finds the files. */
export function sourceOf({ source, pinned }: StoredFrame): ContentSource {
  return pinned ? { kind: 'parts', parts: pinned } : source;
}

/** The paths of the files with the rows of a frame. */
export function pathsOf({ source }: Pick<StoredFrame, 'source'>): readonly string[] {
  return source.kind === 'parts' ? source.parts.map(({ path }) => path) : [source.path];
}

/** The parts of a frame. */
export function partsOf({ source }: StoredFrame): readonly FramePart[] {
  return source.kind === 'parts' ? source.parts : [];
}
