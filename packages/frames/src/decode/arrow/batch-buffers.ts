import * as zlib from 'node:zlib';
import { type FlatTable, SLOT } from '@svc/arrow';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { decompress } from 'fzstd';
import type { ByteBudget } from '../../byte-budget.ts';
import { type IsWorking, WORKING } from '../decode-steps.ts';
import { allocateCounted, MAX_COLUMNS } from '../limits.ts';

/** The header of an Arrow record batch or dictionary batch: the layout of its body. */
export interface ArrowBatchHead {
  readonly rows: number;
  /** The length and null count of every column; children follow their parents. */
  readonly nodes: readonly number[];
  /** The offset and length of every buffer in the body. */
  readonly buffers: readonly number[];
  /** The number of data buffers of each view column. */
  readonly partCounts: readonly number[];
  readonly compression: Compression | undefined;
  /** True if the message has version V4 of the format, not V5. */
  readonly isV4: boolean;
}

/** Reads the header from its flatbuffer table; `oldCodec` is that of `codecOfMetadata`. */
export function readBatchHead(table: FlatTable, oldCodec: string | undefined, isV4: boolean): ArrowBatchHead {
  const compression = table.table(SLOT.recordBatch.compression);
  return {
    rows: table.size(SLOT.recordBatch.rows),
    nodes: table.sizes(SLOT.recordBatch.nodes, 2),
    buffers: table.sizes(SLOT.recordBatch.buffers, 2),
    partCounts: table.sizes(SLOT.recordBatch.partCounts, 1),
    compression: compression === undefined ? oldCompression(oldCodec) : readCompression(compression),
    isV4,
  };
}

/** Arrow 0.17 declared the compression of a body here; later releases declare it in the header of the batch. */
const OLD_COMPRESSION_KEY = 'ARROW:experimental_compression';

/** Returns the codec the metadata of a message declares. */
export function codecOfMetadata(message: FlatTable): string | undefined {
  if (message.count(SLOT.message.metadata, 4) > MAX_COLUMNS) throw new RangeError('There are too many entries.');
  // Compare the lengths first: any number of entries may point to one long text.
  const isCodec = (entry: FlatTable) =>
    entry.count(SLOT.keyValue.key, 1) === OLD_COMPRESSION_KEY.length &&
    entry.text(SLOT.keyValue.key) === OLD_COMPRESSION_KEY;
  return message.tables(SLOT.message.metadata).find(isCodec)?.text(SLOT.keyValue.value);
}

function oldCompression(codec: string | undefined): Compression | undefined {
  if (codec === undefined) return undefined;
  const name = codec.toLowerCase();
  if (name === 'uncompressed') return undefined;
  if (name === 'lz4' || name === 'zstd') return name;
  throw unknownCodec(quoted(codec));
}

function readCompression(table: FlatTable): Compression {
  const codec = table.byte(SLOT.compression.codec);
  if (codec > 1 || table.byte(SLOT.compression.method) !== 0) throw unknownCodec(String(codec));
  return codec === 0 ? 'lz4' : 'zstd';
}

function unknownCodec(codec: string): ServiceError {
  return new ServiceError('invalid_data', `The Arrow data is compressed with the unknown codec ${codec}.`, {
    hint: 'Compress the data with LZ4 (frame) or ZSTD, or not at all.',
  });
}

/** After this many decompressed bytes, a decoder reports progress: a large body takes longer than the stall timeout. */
const SILENT_BYTES = 1 << 20;

/** Reads the buffers of a batch, and decompresses them. */
export function* readBuffers(
  name: string,
  { buffers, compression }: ArrowBatchHead,
  body: Uint8Array<ArrayBuffer>,
  budget: ByteBudget,
): Generator<IsWorking, Uint8Array<ArrayBuffer>[], void> {
  const found: Uint8Array<ArrayBuffer>[] = [];
  let silentBytes = 0;
  for (let i = 0; i < buffers.length; i += 2) {
    const end = buffers[i] + buffers[i + 1];
    if (end > body.length) throw batchFault(name, `has a buffer beyond the end of its ${body.length} bytes`);
    const bytes = body.subarray(buffers[i], end);
    const plain = compression === undefined ? bytes : decompressBuffer(bytes, compression, budget);
    found.push(plain);
    silentBytes += compression === undefined ? 0 : plain.length;
    if (silentBytes >= SILENT_BYTES) {
      silentBytes = 0;
      yield WORKING;
    }
  }
  return found;
}

/** A cursor over the nodes and buffers of an Arrow batch, in column order. */
export type ArrowBatch = ReturnType<typeof createArrowBatch>;

/** Creates a cursor. `name` is that of the batch in errors: `record batch 1`. */
export function createArrowBatch(
  name: string,
  head: ArrowBatchHead,
  buffers: readonly Uint8Array<ArrayBuffer>[],
  budget: ByteBudget,
) {
  let node = 0;
  let buffer = 0;
  let partCount = 0;

  function next<Part>(parts: readonly Part[], index: number): Part {
    if (index < parts.length) return parts[index];
    throw batchFault(name, 'has fewer parts than its schema needs');
  }
  return {
    name,
    rows: head.rows,
    isV4: head.isV4,
    nextNode(): readonly [length: number, nullCount: number] {
      node += 2;
      return [next(head.nodes, node - 2), next(head.nodes, node - 1)];
    },
    nextBuffer: (): Uint8Array<ArrayBuffer> => next(buffers, buffer++),
    nextPartCount(): number {
      const count = next(head.partCounts, partCount++);
      if (count > buffers.length - buffer) throw batchFault(name, 'has fewer buffers than it declares');
      return count;
    },
    /** Allocates counted memory for a copy: any number of columns may share the same bytes. */
    allocate: (bytes: number): Uint8Array<ArrayBuffer> => allocateCounted(budget, bytes),
    /** Checks that nothing is left. */
    finish(): void {
      if (node < head.nodes.length || buffer < buffers.length) {
        throw batchFault(name, 'has more parts than its schema needs');
      }
    },
  };
}

function batchFault(name: string, what: string): ServiceError {
  return new ServiceError('invalid_data', `${name.slice(0, 1).toUpperCase()}${name.slice(1)} ${what}.`);
}

/** The compression of the buffers of an Arrow batch. */
type Compression = 'lz4' | 'zstd';

/** The maximum expansion per byte: an LZ4 match, or a ZSTD run in a separate block. */
const MAX_RATIOS: Readonly<Record<Compression, number>> = { lz4: 255, zstd: (1 << 17) / 4 };

/** Decompresses one buffer of an Arrow batch: its size in 8 bytes (-1: not compressed), then its content. */
function decompressBuffer(source: Uint8Array<ArrayBuffer>, compression: Compression, budget: ByteBudget) {
  if (source.length === 0) return source;
  if (source.length < 8) throw malformed(compression);
  const size = Number(new DataView(source.buffer, source.byteOffset).getBigInt64(0, true));
  const content = source.subarray(8);
  const bytes = size === -1 ? content.length : size;
  if (!(bytes >= 0 && bytes <= content.length * MAX_RATIOS[compression])) throw malformed(compression);
  const target = allocateCounted(budget, bytes);
  try {
    if (size === -1) target.set(content);
    else if (compression === 'lz4') decompressLz4Frame(content, target);
    else decompressZstdFrame(content, target, budget);
  } catch (error) {
    throw error instanceof ServiceError ? error : malformed(compression, error);
  }
  return target;
}

function malformed(compression: Compression, cause?: unknown): ServiceError {
  return new ServiceError('invalid_data', `A buffer compressed with ${compression} cannot be decompressed.`, {
    hint: 'Check that the body is complete, or write it uncompressed.',
    cause,
  });
}

/** The first four bytes of an LZ4 frame, as a little-endian number. */
const MAGIC = 0x184d2204;

/**
 * Decompresses an LZ4 frame into a target of exactly the size of its content. Checksums are ignored; a malformed frame
 * or another size is a `RangeError`.
 */
function decompressLz4Frame(source: Uint8Array, target: Uint8Array): void {
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength);
  if (view.getUint32(0, true) !== MAGIC) throw new RangeError('This is not an LZ4 frame.');
  const flags = view.getUint8(4);
  if (flags >> 6 !== 1) throw new RangeError('This version of LZ4 frames is not supported.');
  const hasBlockChecksums = (flags & 0x10) !== 0;
  const hasContentSize = (flags & 0x08) !== 0;
  const hasDictionary = (flags & 0x01) !== 0;
  if (hasDictionary) throw new RangeError('LZ4 frames with a dictionary are not supported.');
  let position = 7 + (hasContentSize ? 8 : 0);
  let written = 0;
  for (;;) {
    const word = view.getUint32(position, true);
    position += 4;
    if (word === 0) break;
    const end = position + (word & 0x7fffffff);
    if (end > source.length) throw new RangeError('An LZ4 block is truncated.');
    const block = source.subarray(position, end);
    written = word >>> 31 === 1 ? copyBlock(block, target, written) : decompressBlock(block, target, written);
    position = end + (hasBlockChecksums ? 4 : 0);
  }
  if (written !== target.length) throw new RangeError('The content of an LZ4 frame is too short.');
}

function copyBlock(block: Uint8Array, target: Uint8Array, start: number): number {
  target.set(block, start);
  return start + block.length;
}

/** Decompresses one block. Blocks share the target, as they may refer to earlier ones. */
function decompressBlock(block: Uint8Array, target: Uint8Array, start: number): number {
  let at = 0;
  let written = start;
  while (at < block.length) {
    const token = block[at++];
    let literals = token >> 4;
    if (literals === 15) {
      let more: number;
      do {
        more = block[at++];
        literals += more;
      } while (more === 255);
    }
    if (!(at + literals <= block.length && written + literals <= target.length)) throw malformedBlock();
    if (literals < 32) for (let i = 0; i < literals; i++) target[written + i] = block[at + i];
    else target.set(block.subarray(at, at + literals), written);
    at += literals;
    written += literals;
    if (at === block.length) return written;

    const distance = block[at] | (block[at + 1] << 8);
    at += 2;
    let matched = (token & 15) + 4;
    if (matched === 19) {
      let more: number;
      do {
        more = block[at++];
        matched += more;
      } while (more === 255);
    }
    if (!(at <= block.length && distance > 0 && distance <= written && written + matched <= target.length)) {
      throw malformedBlock();
    }
    for (let i = 0; i < matched; i++, written++) target[written] = target[written - distance];
  }
  return written;
}

function malformedBlock(): RangeError {
  return new RangeError('An LZ4 block is malformed.');
}

/** The decompressor of Node 22.15 and newer, which is faster; undefined in older versions. */
const nativeZstd: unknown = Reflect.get(zlib, 'zstdDecompressSync');

function isZstd(
  value: unknown,
): value is (source: Uint8Array, options: Readonly<Record<'maxOutputLength' | 'chunkSize', number>>) => Uint8Array {
  return typeof value === 'function';
}

/** Decompresses a zstd frame into a target of exactly its size, which bounds the expansion of a small body. */
export function decompressZstdFrame(source: Uint8Array, target: Uint8Array, budget: ByteBudget): void {
  const head = readHead(source);
  if ((head.contentSize ?? target.length) !== target.length) throw new RangeError('The content size does not match.');
  if (isZstd(nativeZstd)) {
    // In one chunk: the only other buffer then has a known size.
    const chunkSize = Math.max(64, target.length + 1);
    budget.take(chunkSize);
    const content = nativeZstd(source, { maxOutputLength: Math.max(1, target.length), chunkSize });
    if (content.length !== target.length) throw new RangeError('The content is shorter than declared.');
    target.set(content);
    budget.free(chunkSize);
  } else decompressPortably(source, head.bytes, target, budget);
}

/** An empty last block. */
const LAST_BLOCK = [1, 0, 0];

/**
 * The portable decompressor does not report how much of its target it filled. So append an empty block: the offset at
 * which it is written is the end of the content.
 */
function decompressPortably(source: Uint8Array, headBytes: number, target: Uint8Array, budget: ByteBudget): void {
  const last = findLastBlock(source, headBytes);
  const frame = allocateCounted(budget, last.end + LAST_BLOCK.length);
  frame.set(source.subarray(0, last.end));
  frame[last.start] &= ~1;
  frame.set(LAST_BLOCK, last.end);
  let end = -1;
  decompress(
    frame,
    Object.assign(target.subarray(), {
      // The decompressor compares its target with a number, which would convert every byte to text.
      [Symbol.toPrimitive]: () => 0,
      set(block: Uint8Array, at: number) {
        target.set(block, at);
        end = at;
      },
    }),
  );
  if (end !== target.length) throw new RangeError('The content is shorter or longer than declared.');
  budget.free(frame.length);
}

/** Finds the last block of a frame. Only a checksum may follow it. */
function findLastBlock(source: Uint8Array, headBytes: number): { readonly start: number; readonly end: number } {
  const checksumBytes = (source[4] & 4) === 0 ? 0 : 4;
  for (let start = headBytes; start + 3 <= source.length;) {
    const word = source[start] | (source[start + 1] << 8) | (source[start + 2] << 16);
    const isRun = ((word >> 1) & 3) === 1;
    const end = start + 3 + (isRun ? 1 : word >> 3);
    if ((word & 1) !== 0 && end + checksumBytes === source.length) return { start, end };
    if ((word & 1) !== 0) break;
    start = end;
  }
  throw new RangeError('The frame does not end with its last block.');
}

/** Reads the header of a zstd frame: its length in bytes, and the content size if it has one. */
function readHead(source: Uint8Array): { readonly bytes: number; readonly contentSize: number | undefined } {
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength);
  if (view.getUint32(0, true) !== 0xfd2fb528) throw new RangeError('This is not a zstd frame.');
  const descriptor = view.getUint8(4);
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const at = 5 + (isSingleSegment ? 0 : 1) + [0, 1, 2, 4][descriptor & 3];
  switch (descriptor >> 6) {
    case 0:
      return isSingleSegment
        ? { bytes: at + 1, contentSize: view.getUint8(at) }
        : { bytes: at, contentSize: undefined };
    case 1:
      return { bytes: at + 2, contentSize: view.getUint16(at, true) + 256 };
    case 2:
      return { bytes: at + 4, contentSize: view.getUint32(at, true) };
    default:
      return { bytes: at + 8, contentSize: Number(view.getBigUint64(at, true)) };
  }
}
