import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { ServiceError } from '@svc/errors';
import { counted } from '@svc/errors/internal';
import type { FrameStream } from '@svc/frames';
import { type RecordBatch, Schema } from 'apache-arrow';
import { sliceBatches } from '@svc/frames/columns';
import type { DecodedFile, DecodeOptions, FrameSource, ReadPart, SourceInfo } from './frame-files.ts';
import { decodeBatch } from '../types/batch-codec.ts';
import type { FileChild } from '../child-link/file-child.ts';
import { fromChild, type Subject } from './file-errors.ts';
import { createBatchReader, PLACE_BYTES } from '../wire/batch.ts';
import { readPlan } from './source-sql.ts';

/** Reads the rows of a described source. Fails if the number of rows differs. */
export function readSource(engine: FileChild, source: FrameSource, info: SourceInfo, part: ReadPart): FrameStream {
  const { schema, payloads } = payloadsOf(engine, source, info, part);
  async function* batches(): AsyncGenerator<RecordBatch> {
    for await (const payload of payloads) yield decodeBatch(schema, payload);
  }
  return { schema, batches: batches() };
}

/** Writes all rows of a described source to an unnamed file, decoded. */
export function decodeSource(
  engine: FileChild,
  source: FrameSource,
  info: SourceInfo,
  { unnamed, onSize, signal }: DecodeOptions,
): Promise<DecodedFile> {
  return writeDecodedFile({ ...payloadsOf(engine, source, info, { signal }), unnamed, onSize });
}

function payloadsOf(
  engine: FileChild,
  source: FrameSource,
  info: SourceInfo,
  part: ReadPart,
): Pick<DecodedFileOptions, 'payloads' | 'schema'> {
  const { schema, rows, request } = readPlan(source, info, part);
  async function* payloads(): AsyncGenerator<ArrayBuffer> {
    part.signal?.throwIfAborted();
    if (rows === 0) return;
    try {
      let seen = 0;
      for await (const payload of engine.read(request(), part)) {
        seen += createBatchReader(payload).word();
        yield payload;
      }
      if (seen !== rows) throw otherRows(source, info, seen, rows);
    } catch (error) {
      throw fromChild(error, subjectOf(source));
    }
  }
  return { schema, payloads: payloads() };
}

function otherRows(source: FrameSource, { isForeign }: SourceInfo, seen: number, rows: number): Error {
  if (isForeign === undefined) return new Error(`A read returned ${seen} rows instead of ${rows}.`);
  const message = `The ${subjectOf(source)} cannot be read: it has ${counted(seen, 'row')} where it declares ${rows}.`;
  return new ServiceError('invalid_data', message, { hint: 'Write it again: its footer does not match its rows.' });
}

const SUBJECTS = { parquet: 'Parquet file', parts: 'stored file', csv: 'CSV file', table: 'table' } as const;

/** The name of a source in error messages. */
export function subjectOf(source: FrameSource): Subject {
  return source.kind === 'parquet' && source.isOwn ? 'stored file' : SUBJECTS[source.kind];
}

/** Options of `writeDecodedFile`. */
interface DecodedFileOptions extends Pick<DecodeOptions, 'onSize' | 'unnamed'> {
  /** The batches of the source. */
  readonly payloads: AsyncIterable<ArrayBuffer>;
  readonly schema: Schema;
}

/** A batch in the file. */
interface Block {
  readonly position: number;
  readonly length: number;
  readonly checksum: number;
  readonly firstRow: number;
  readonly rows: number;
  /** When its bytes were last loaded. */
  loadedMs: number;
}

/** Writes the batches of a source to a new file. On failure there is no file. */
async function writeDecodedFile(options: DecodedFileOptions): Promise<DecodedFile> {
  const { unnamed, payloads, schema, onSize } = options;
  const blocks: Block[] = [];
  let position = 0;
  let firstRow = 0;
  const file = await unnamed.create('rows', async (path) => {
    const written = await open(path, 'wx', 0o600);
    try {
      for await (const payload of payloads) {
        const bytes = new Uint8Array(payload);
        const { length } = bytes;
        await onSize(position + length);
        for (let done = 0; done < length;) done += (await written.write(bytes, done)).bytesWritten;
        const rows = createBatchReader(payload).word();
        blocks.push({ position, length, checksum: crc32(bytes), firstRow, rows, loadedMs: -Infinity });
        position += length;
        firstRow += rows;
      }
    } finally {
      await written.close();
    }
  });
  return { bytes: position, read: (part = {}) => readBlocks(file, schema, blocks, part), close: () => file.close() };
}

function readBlocks(file: FileHandle, schema: Schema, blocks: readonly Block[], part: ReadPart): FrameStream {
  const { offset = 0, limit = Infinity, columns: indices, signal, reuseBuffers = false } = part;
  const needed = blocks.filter(({ firstRow, rows }) => firstRow < offset + limit && firstRow + rows > offset);
  const chosen = indices?.flatMap((at) => schema.fields[at] ?? []) ?? schema.fields;
  const slice = {
    schema: new Schema(chosen, schema.metadata),
    indices,
    offset: offset - (needed[0]?.firstRow ?? offset),
    limit,
    signal,
  };
  async function* batches(): AsyncGenerator<RecordBatch> {
    for await (const payload of loadBlocks(file, needed, reuseBuffers)) {
      signal?.throwIfAborted();
      yield decodeBatch(schema, payload);
    }
  }
  return { schema: slice.schema, batches: sliceBatches(batches(), slice) };
}

/** Loads blocks, each while the one before it is in use. With `reuseBuffers`, two buffers take turns. */
async function* loadBlocks(
  file: FileHandle,
  blocks: readonly Block[],
  reuseBuffers: boolean,
): AsyncGenerator<ArrayBuffer> {
  const reused = reuseBuffers ? [takeBuffer(), takeBuffer()] : [];
  const load = (at: number): Promise<ArrayBuffer> | undefined => {
    const block = blocks[at];
    const loading = block && loadBlock(file, block, reused[at % 2]);
    // A failure is reported when its turn comes.
    loading?.catch(() => undefined);
    return loading;
  };
  let next = load(0);
  try {
    for (let at = 0; next !== undefined; at++) {
      const payload = await next;
      next = load(at + 1);
      yield payload;
    }
    // Only now is the consumer surely done with them: one that leaves early may still be sending a batch.
    for (const buffer of reused) if (freeBuffers.length < MAX_FREE_BUFFERS) freeBuffers.push(buffer);
  } finally {
    // The file must not be in use any more.
    await next?.catch(() => undefined);
  }
}

async function loadBlock(file: FileHandle, block: Block, buffer: ArrayBuffer | undefined): Promise<ArrayBuffer> {
  const { position, length } = block;
  const payload = buffer !== undefined && length <= buffer.byteLength ? buffer : Buffer.allocUnsafeSlow(length).buffer;
  const bytes = new Uint8Array(payload, 0, length);
  for (let done = 0; done < length;) {
    const { bytesRead } = await file.read(bytes, done, length - done, position + done);
    if (bytesRead === 0) throw new Error('A file of decoded rows is shorter than it was.');
    done += bytesRead;
  }
  const nowMs = performance.now();
  if (nowMs - block.loadedMs > TRUSTED_MS && crc32(bytes) !== block.checksum) {
    throw new Error('A file of decoded rows has other bytes than were written.');
  }
  block.loadedMs = nowMs;
  return payload;
}

/** Loaded bytes come from memory for a while; later they may come from the disk again. */
const TRUSTED_MS = 10_000;

/** Buffers of finished reads, for the next ones. */
const freeBuffers: ArrayBuffer[] = [];
const MAX_FREE_BUFFERS = 8;

function takeBuffer(): ArrayBuffer {
  return freeBuffers.pop() ?? new ArrayBuffer(PLACE_BYTES);
}
