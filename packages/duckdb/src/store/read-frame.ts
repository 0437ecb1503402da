import { stat } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import type { FrameRef, FrameStream, OpenFrame, ReadOptions } from '@svc/frames';
import { selectColumns } from '@svc/frames/columns';
import type { RecordBatch } from 'apache-arrow';
import type { ReadPart } from '../files/frame-files.ts';
import type { OpenDecodedFrame } from './derived/disk-tier.ts';
import type { Filling } from './derived/hot-tier.ts';
import { unreadableFrame } from './store-errors.ts';
import type { StoreParts } from './store-parts.ts';
import { type FrameContents, type FrameUse, infoOf, pathsOf, type StoredFrame } from './catalogue/stored-frame.ts';

/** A frame and its contents, pinned until it is released. */
export interface AcquiredFrame {
  readonly frame: StoredFrame;
  readonly contents: FrameContents;
}

/** A read-only store retries when a frame cannot be read: the holder of the directory may have replaced the file. */
const READ_ONLY_ATTEMPTS = 3;

/**
 * Finds the frame with exactly this handle and its contents, and pins it until it is released. Its `description` needs no
 * files of ours.
 */
export async function acquireFrame(
  parts: StoreParts,
  ref: FrameRef,
  use: FrameUse = 'rows',
): Promise<AcquiredFrame | undefined> {
  const { catalogue, reader, describing, isReadOnly } = parts;
  for (let attempt = 1; ; attempt += 1) {
    const frame = (await catalogue.current(ref, use)) ?? (await foreignFrame(parts, ref));
    if (frame === undefined) return undefined;
    try {
      const describe = (): Promise<FrameContents> => reader.describe(frame);
      // The holder of the directory may have removed the files since the entry was read.
      if (isReadOnly) await Promise.all(pathsOf(frame).map((path) => stat(path)));
      return { frame, contents: await (frame.contents ? describe() : describing.first(describe)) };
    } catch (error) {
      catalogue.release(frame);
      if (isReadOnly && attempt < READ_ONLY_ATTEMPTS) continue;
      throw error instanceof ServiceError ? error : unreadableFrame(frame.handle, frame.isForeign, error);
    }
  }
}

/** Unpins a frame. */
export function releaseFrame({ catalogue, copies }: StoreParts, frame: StoredFrame): void {
  catalogue.release(frame);
  copies.released(frame);
}

/** Describes the newest frame. False if there is none. */
export async function describeNewest({ catalogue, reader }: StoreParts): Promise<boolean> {
  const newest = await catalogue.newest();
  if (newest) await reader.describe(newest);
  return newest !== undefined;
}

async function foreignFrame({ catalogue, foreign }: StoreParts, ref: FrameRef): Promise<StoredFrame | undefined> {
  // A stored frame hides it, also if their handles differ in case.
  const frame = (await catalogue.find(ref)) ? undefined : await foreign.find(ref);
  if (frame) await catalogue.acquire(frame);
  return frame;
}

/** Up to this part of the columns, DuckDB decodes many rows of the Parquet files sooner than all columns are loaded. */
const NARROW_SHARE = 1 / 4;
/** Fewer bytes with all columns are a few batches: loading them is faster in any case. */
const NARROW_BYTES = 16 * 1024 * 1024;

/** Opens a frame for reading: from memory if it is there, else from the disk tier if it is there, else from its files. */
export async function openFrame(parts: StoreParts, ref: FrameRef): Promise<OpenFrame | undefined> {
  const found = await acquireFrame(parts, ref);
  return found && openAcquired(parts, found);
}

function openAcquired(parts: StoreParts, { frame, contents }: AcquiredFrame): OpenFrame {
  const { reader, hot, disk, warmer, encoded } = parts;
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
    if (decoded && !isNarrow) return readDecoded(parts, decoded, { frame, contents }, part);
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
      own?.finish();
      own?.keep(frame);
      // Afterwards: loading it would slow down this read.
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
    file: (format, options) => encoded.open(frame, contents, format, options),
    close() {
      if (!isOpen) return;
      isOpen = false;
      // A reader may stop without `return()`: its filling is unfinished.
      filling?.cancel();
      pinned?.close();
      decoded?.close();
      releaseFrame(parts, frame);
    },
  };
}

/** Reads decoded rows. After a failure, the other rows are read from the files of the frame. */
function readDecoded(
  { reader, disk }: StoreParts,
  decoded: OpenDecodedFrame,
  { frame, contents }: AcquiredFrame,
  part: ReadPart,
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
