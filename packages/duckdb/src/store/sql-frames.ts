import type { Handle, PinnableFrames, PinnedFrame, PinOptions } from '@svc/frames';
import type { SourceInfo } from '../files/frame-files.ts';

/** A pinned frame, as the engine of this package reads it. */
export interface PinnedSource extends PinnedFrame {
  readonly info: SourceInfo;
  /** Verifies the checksums of the files again after a failed read. Throws if one is damaged. */
  verify(signal?: AbortSignal): Promise<{ readonly isChecked: boolean }>;
}

/** A frame with its metadata. */
export interface DescribedFrame {
  readonly handle: Handle;
  readonly info: SourceInfo;
}

/** Frames as files for SQL. */
export interface SqlFrames extends PinnableFrames {
  pin(options: PinOptions): Promise<PinnedSource | undefined>;
  /** The frames of a tenant that can be read, sorted by handle. */
  describeAll(tenant: string): Promise<readonly DescribedFrame[]>;
  /**
   * All directories that contain files of a tenant's pinned frames. The first one exists whenever the tenant has a frame.
   */
  directories(tenant: string): readonly string[];
}
