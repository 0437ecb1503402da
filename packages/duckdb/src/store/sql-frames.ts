import type { Handle } from '@svc/frames';
import type { SourceInfo } from '../files/frame-files.ts';

/** A frame whose file stays until it is released, whatever happens to the frame. */
export interface PinnedFrame {
  readonly handle: Handle;
  readonly version: string;
  /** A Parquet file with its rows. */
  readonly path: string;
  readonly info: SourceInfo;
  /** Compares its file with its checksums once more, because it could not be read; what is found wrong is thrown. */
  verify(signal?: AbortSignal): Promise<{ readonly isChecked: boolean }>;
  release(): void;
}

/** A frame, and what is known of it without its rows. */
export interface DescribedFrame {
  readonly handle: Handle;
  readonly info: SourceInfo;
}

/** Which frame is to be pinned. */
export interface PinOptions {
  readonly tenant: string;
  /** The name of a table: the handle, in any letter case. */
  readonly name: string;
}

/** Frames as files that SQL can be run over. */
export interface SqlFrames {
  /** The frame of a name, as it is now; undefined where there is none. */
  pin(options: PinOptions): Promise<PinnedFrame | undefined>;
  /** The handles of a tenant's frames, sorted. */
  handles(tenant: string): Promise<readonly Handle[]>;
  /** The frames of a tenant that can be read, sorted by handle. */
  describeAll(tenant: string): Promise<readonly DescribedFrame[]>;
  /**
   * All directories in which pinned frames of a tenant have their files. The first is there whenever the tenant has a
   * frame.
   */
  directories(tenant: string): readonly string[];
}
