import type { Handle } from '@svc/frames';
import type { SourceInfo } from '../files/frame-files.ts';

/** A frame whose files are kept until it is released, even if the frame is dropped. */
export interface PinnedFrame {
  readonly handle: Handle;
  readonly version: string;
  /** The paths of Parquet files with the same columns, whose rows follow each other. */
  readonly paths: readonly string[];
  readonly info: SourceInfo;
  /** Verifies the checksums of the files again after a failed read. Throws if one is damaged. */
  verify(signal?: AbortSignal): Promise<{ readonly isChecked: boolean }>;
  release(): void;
}

/** A frame with its metadata. */
export interface DescribedFrame {
  readonly handle: Handle;
  readonly info: SourceInfo;
}

/** The frame to pin. */
export interface PinOptions {
  readonly tenant: string;
  /** The name of a table: the handle, in any letter case. */
  readonly name: string;
}

/** Frames as files for SQL. */
export interface SqlFrames {
  /** Pins the current version of a frame, or returns undefined if there is none. */
  pin(options: PinOptions): Promise<PinnedFrame | undefined>;
  /** The handles of a tenant's frames, sorted. */
  handles(tenant: string): Promise<readonly Handle[]>;
  /** The frames of a tenant that can be read, sorted by handle. */
  describeAll(tenant: string): Promise<readonly DescribedFrame[]>;
  /**
   * All directories that contain files of a tenant's pinned frames. The first one exists whenever the tenant has a frame.
   */
  directories(tenant: string): readonly string[];
}
