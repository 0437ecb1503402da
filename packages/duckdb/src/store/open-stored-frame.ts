import type { FrameFile, FrameFileFormat, FrameFileOptions, FrameStream, OpenFrame, ReadOptions } from '@svc/frames';
import { selectColumns } from '@svc/frames/internal';
import type { RecordBatch } from 'apache-arrow';
import type { ReadPart } from '../files/frame-files.ts';
import type { ContentReader } from './frame-contents.ts';
import type { DiskTier, OpenDecodedFrame } from './memory/disk-tier.ts';
import type { FrameWarmer } from './memory/frame-warmer.ts';
import type { Filling, HotTier } from './memory/hot-tier.ts';
import { type FrameContents, infoOf, type StoredFrame } from './catalogue/stored-frame.ts';

/** The parts of a store that reading needs. */
export interface FrameReading {
  readonly reader: ContentReader;
  readonly hot: HotTier<StoredFrame>;
  readonly disk: DiskTier<StoredFrame>;
  readonly warmer: FrameWarmer;
  readonly openFile: OpenFrameFile;
}

/** Opens the file of a frame in a format. */
export type OpenFrameFile = (
  frame: StoredFrame,
  contents: FrameContents,
  format: FrameFileFormat,
  options?: FrameFileOptions,
) => Promise<FrameFile | undefined>;

/** Up to this part of the columns, DuckDB decodes many rows of the Parquet files sooner than all columns are loaded. */
const NARROW_SHARE = 1 / 4;
/** Rows that take less with all columns are in a few batches, which are loaded sooner in any case. */
const NARROW_BYTES = 16 * 1024 * 1024;

/**
 * Opens a frame for reading: from memory if it is there, else from the disk tier if it is there, else from its files. Calls
 * `onClose` once.
 */
export function openStoredFrame(
  { reader, hot, disk, warmer, openFile }: FrameReading,
  frame: StoredFrame,
  contents: FrameContents,
  onClose: () => void,
): OpenFrame {
  const info = infoOf(frame, contents, hot.has(frame));
  let pinned = hot.open(frame);
  let decoded: OpenDecodedFrame | undefined;
  let filling: Filling<StoredFrame> | undefined;
  let isOpen = true;

  function readCold(options: ReadOptions): FrameStream {
    const { offset = 0, limit = Infinity, columns, reuseBuffers = false, signal, origin } = options;
    const context = { reuseBuffers, ...(signal && { signal }), ...(origin && { origin }) };
    const { indices: positions } = selectColumns(contents.schema, columns);
    const part = {
      offset,
      ...(limit < contents.rows && { limit }),
      ...(positions && { columns: positions }),
      ...context,
    };
    const rows = Math.max(0, Math.min(limit, contents.rows - offset));
    const share = positions === undefined ? 1 : positions.length / contents.schema.fields.length;
    // Parquet files have each column by itself; the decoded rows are loaded with all columns.
    const isNarrow = share <= NARROW_SHARE && ((contents.arrowBytes ?? 0) / contents.rows) * rows > NARROW_BYTES;
    decoded ??= isOpen && !isNarrow ? disk.open(frame) : undefined;
    disk.reads[decoded === undefined || isNarrow ? 'misses' : 'hits'] += 1;
    if (decoded && !isNarrow) return readDecoded({ reader, disk }, decoded, { frame, contents, part });
    const isWhole = positions === undefined && offset === 0 && limit >= contents.rows;
    if (isWhole) return { schema: contents.schema, batches: fillWhileReading(context) };
    const stream = reader.read(frame, contents, part);
    warmer.coldRead(frame, contents, rows * share);
    return stream;
  }

  async function* fillWhileReading(
    part: Pick<ReadOptions, 'origin' | 'reuseBuffers' | 'signal'>,
  ): AsyncGenerator<RecordBatch> {
    const own = hot.fill(frame, contents.schema, contents.arrowBytes);
    filling = own ?? filling;
    try {
      // The hot tier keeps the batches, so their buffers cannot be reused.
      const { batches } = reader.read(frame, contents, own === undefined ? part : { ...part, reuseBuffers: false });
      let isFilling = own !== undefined;
      for await (const batch of batches) {
        isFilling = isFilling && own !== undefined && (await own.add(batch));
        yield batch;
      }
      await own?.finish();
      own?.keep(frame);
      // Afterwards, so that loading it does not slow down this read.
      if (own === undefined) warmer.coldRead(frame, contents, contents.rows);
    } finally {
      own?.cancel();
    }
  }

  return {
    info,
    read(options = {}) {
      pinned ??= isOpen ? hot.open(frame) : undefined;
      hot.reads[pinned === undefined ? 'misses' : 'hits'] += 1;
      return pinned ? pinned.read(options) : readCold(options);
    },
    file: (format, options) => openFile(frame, contents, format, options),
    close() {
      if (!isOpen) return;
      isOpen = false;
      // A reader that stopped without `return()` has left its filling unfinished.
      filling?.cancel();
      pinned?.close();
      decoded?.close();
      onClose();
    },
  };
}

/** Rows of a frame. */
interface FrameRows {
  readonly frame: StoredFrame;
  readonly contents: FrameContents;
  readonly part: ReadPart;
}

/** Reads decoded rows. If that fails, the other rows are read from the files of the frame. */
function readDecoded(
  { reader, disk }: Pick<FrameReading, 'disk' | 'reader'>,
  decoded: OpenDecodedFrame,
  { frame, contents, part }: FrameRows,
): FrameStream {
  const { schema, batches } = decoded.read(part);
  async function* complete(): AsyncGenerator<RecordBatch> {
    let rows = 0;
    try {
      for await (const batch of batches) {
        rows += batch.numRows;
        yield batch;
      }
      return;
    } catch {
      part.signal?.throwIfAborted();
      disk.remove(frame);
    }
    const { offset = 0, limit = Infinity } = part;
    yield* reader.read(frame, contents, { ...part, offset: offset + rows, limit: limit - rows }).batches;
  }
  return { schema, batches: complete() };
}
