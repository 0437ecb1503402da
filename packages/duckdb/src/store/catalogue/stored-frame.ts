import type { ServiceError } from '@svc/errors';
import { type ColumnInfo, columnInfo, type FrameInfo, type Handle } from '@svc/frames';
import type { FrameSource, SourceInfo } from '../../files/frame-files.ts';

/** The file or table with the rows of a frame. */
export type ContentSource = FrameSource | { readonly kind: 'arrow'; readonly path: string };

/** The description of a frame's file. It never changes, and is read on first use. */
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
  readonly source: ContentSource;
  /** Whether the file was not written by the store. */
  readonly isForeign: boolean;
  expires: Date | null;
  contents: FrameContents | undefined;
  /** Why a foreign file is malformed. Reading it again would fail again. */
  failure?: ServiceError;
  /** Whether a problem with the file was reported. */
  isReported?: true;
  /** The size of the file, if known. */
  fileBytes: number | undefined;
  /** The number of open readers. */
  readers: number;
}

/** Creates the description of a file. */
export function contentsOf(info: SourceInfo, fileBytes: number): FrameContents {
  return { ...info, columns: info.schema.fields.map(columnInfo), fileBytes };
}

/** Returns the metadata of a frame for clients. */
export function infoOf(frame: StoredFrame, contents: FrameContents, isHot: boolean): FrameInfo {
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
