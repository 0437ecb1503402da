import type { ServiceError } from '@svc/errors';
import { type ColumnInfo, columnInfo, type FrameInfo, type Handle } from '@svc/frames';
import type { FrameSource, SourceInfo } from '../../files/frame-files.ts';

/** Where the rows of a frame are. */
export type ContentSource = FrameSource | { readonly kind: 'arrow'; readonly path: string };

/** What is in the file of a frame. It never changes, and is found out when it is first needed. */
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
  /** Whether somebody else put the file there. */
  readonly isForeign: boolean;
  expires: Date | null;
  contents: FrameContents | undefined;
  /** Why the file of another's cannot be read, where the file itself is to blame: it will not be another time either. */
  failure?: ServiceError;
  /** Whether somebody was told that it cannot be read. */
  isReported?: true;
  /** Bytes of the file, where they are known. */
  fileBytes: number | undefined;
  /** How many have the frame open. */
  readers: number;
}

/** What is in a file, of what its reader says. */
export function contentsOf(info: SourceInfo, fileBytes: number): FrameContents {
  return { ...info, columns: info.schema.fields.map(columnInfo), fileBytes };
}

/** A frame as clients see it. */
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

/** Whether the time of a frame is over. */
export function isExpired(frame: StoredFrame, now: number): boolean {
  return frame.expires !== null && frame.expires.getTime() <= now;
}
