import type { Decoders } from '@svc/frames';
import type { WriteReservations } from '@svc/frames/store';
import type { Catalogue } from './catalogue/catalogue.ts';
import type { DescribeQueue } from './describe-queue.ts';
import type { DamagedFrames, WriteHealth } from './store-health.ts';
import type { StoreProblem } from './catalogue/store-problem.ts';
import type { ForeignFrames } from './foreign/foreign-frames.ts';
import type { ContentReader } from './frame-contents.ts';
import type { EncodedFiles } from './derived/encoded-files.ts';
import type { FrameFiles, WriteOptions } from '../files/frame-files.ts';
import type { DiskTier } from './derived/disk-tier.ts';
import type { FrameWarmer } from './derived/frame-warmer.ts';
import type { HotTier } from './derived/hot-tier.ts';
import type { ParquetCopies } from './derived/parquet-copies.ts';
import type { PartMerger } from './append/part-merger.ts';
import type { StoredFrame } from './catalogue/stored-frame.ts';

/** The parts of a durable store, for its operations. */
export interface StoreParts {
  readonly directory: string;
  readonly hasTenants: boolean;
  readonly files: FrameFiles;
  readonly decoders: Decoders | undefined;
  readonly compression: Pick<WriteOptions, 'compression' | 'level'>;
  readonly hot: HotTier<StoredFrame>;
  readonly disk: DiskTier<StoredFrame>;
  readonly reader: ContentReader;
  readonly damaged: DamagedFrames;
  readonly warmer: FrameWarmer;
  readonly catalogue: Catalogue;
  readonly foreign: ForeignFrames;
  /** Describes the frames of lists. */
  readonly describing: DescribeQueue;
  /** Copies of frames in other formats, for SQL. */
  readonly copies: ParquetCopies;
  /** Frames as files, for clients with range requests. */
  readonly encoded: EncodedFiles;
  /** What the writes in progress are going to store. */
  readonly reservations: WriteReservations;
  /** Keeps the number of parts of each frame small. */
  readonly merger: PartMerger;
  readonly onProblem: (problem: StoreProblem) => void;
  readonly now: () => number;
  /** Fails if the directory is no longer locked by this process. */
  readonly checkLock: () => Promise<void>;
  /** Shows if the directory can be written to. */
  readonly health: WriteHealth;
  readonly isReadOnly: boolean;
}
