import type { Schema } from 'apache-arrow';
import type { Handle } from './handle.ts';

/** A frame whose files are kept until it is released, even if the frame is dropped. */
export interface PinnedFrame {
  readonly handle: Handle;
  readonly version: string;
  readonly rows: number;
  /** The paths of Parquet files with the same columns, whose rows follow each other. */
  readonly paths: readonly string[];
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
