import type { Decoders } from '@svc/frames';
import type { WriteReservations } from '@svc/frames/internal';
import type { AppendQueue } from './append-queue.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import type { DescribeQueue } from './describe-queue.ts';
import type { DamagedFrames } from './damaged-frames.ts';
import type { StoreProblem } from './catalogue/store-problem.ts';
import type { ForeignFrames } from './foreign/foreign-frames.ts';
import type { ContentReader } from './frame-contents.ts';
import type { EncodedFiles } from './encoded-files.ts';
import type { FrameFiles, WriteOptions } from '../files/frame-files.ts';
import type { DiskTier } from './memory/disk-tier.ts';
import type { FrameWarmer } from './memory/frame-warmer.ts';
import type { HotTier } from './memory/hot-tier.ts';
import type { OpenFrameFile } from './open-stored-frame.ts';
import type { ParquetCopies } from './parquet-copies.ts';
import type { PartMerger } from './part-merger.ts';
import type { StoredFrame } from './catalogue/stored-frame.ts';
import type { WriteHealth } from './write-health.ts';

/** The parts of a durable store that its operations share. */
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
  /** Frames as files in other formats, for clients that read ranges. */
  readonly encoded: EncodedFiles;
  readonly openFile: OpenFrameFile;
  /** The directory of the copies, if they are not next to the frames. */
  readonly copyDirectory: string | undefined;
  /** What the writes in progress are going to store. */
  readonly reservations: WriteReservations;
  /** Publishes appended rows. */
  readonly appends: AppendQueue;
  /** Keeps the number of parts of each frame small. */
  readonly merger: PartMerger;
  readonly onProblem: (problem: StoreProblem) => void;
  readonly now: () => number;
  /** Fails if the directory is no longer locked by this process. */
  readonly checkLock: () => Promise<void>;
  /** Whether the directory can be written to. */
  readonly health: WriteHealth;
  readonly isReadOnly: boolean;
}
