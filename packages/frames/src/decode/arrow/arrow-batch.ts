import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { ByteBudget } from '../../byte-budget.ts';
import { type IsWorking, WORKING } from '../decode-steps.ts';
import { allocateCounted, MAX_COLUMNS } from '../limits.ts';
import { SLOT } from './arrow-slots.ts';
import type { FlatTable } from './flatbuffer.ts';
import { decompressLz4Frame } from './lz4-frame.ts';
import { decompressZstdFrame } from './zstd-frame.ts';

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
  /** Whether the message has version V4 of the format, not V5. */
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

/** Returns the codec that the metadata of a message declares. */
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

/** A cursor over the nodes and buffers of an Arrow batch, in column order. */
export interface ArrowBatch {
  /** The name of the batch in errors: `record batch 1`. */
  readonly name: string;
  readonly rows: number;
  readonly isV4: boolean;
  nextNode(): readonly [length: number, nullCount: number];
  nextBuffer(): Uint8Array<ArrayBuffer>;
  nextPartCount(): number;
  /** Allocates counted memory for a copy: any number of columns may share the same bytes. */
  allocate(bytes: number): Uint8Array<ArrayBuffer>;
  /** Checks that nothing is left. */
  finish(): void;
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

/** Creates a cursor over a batch. */
export function createArrowBatch(
  name: string,
  head: ArrowBatchHead,
  buffers: readonly Uint8Array<ArrayBuffer>[],
  budget: ByteBudget,
): ArrowBatch {
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
    nextNode() {
      node += 2;
      return [next(head.nodes, node - 2), next(head.nodes, node - 1)];
    },
    nextBuffer: () => next(buffers, buffer++),
    nextPartCount() {
      const count = next(head.partCounts, partCount++);
      if (count > buffers.length - buffer) throw batchFault(name, 'has fewer buffers than it declares');
      return count;
    },
    allocate: (bytes) => allocateCounted(budget, bytes),
    finish() {
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
