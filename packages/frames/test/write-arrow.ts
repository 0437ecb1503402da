import {
  CompressionType,
  type Data,
  type RecordBatch,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
  type Schema,
} from 'apache-arrow';
import { BufferRegion } from 'apache-arrow/ipc/metadata/message';

/** Options of `writeArrow`. */
export interface WriteArrowOptions {
  readonly kind?: 'stream' | 'file';
  readonly compression?: 'lz4' | 'zstd' | undefined;
}

/** Writes batches as an Arrow stream or file. The compressed forms use only trivial blocks. */
export function writeArrow(
  schema: Schema,
  batches: readonly RecordBatch[],
  { kind = 'stream', compression }: WriteArrowOptions = {},
): Uint8Array {
  const options = optionsOf({ compression });
  const writer = kind === 'stream' ? new StreamWriter(options) : new FileWriter(options);
  writer.reset(undefined, schema);
  for (const batch of batches) writer.write(batch);
  return writer.finish().toUint8Array(true);
}

function optionsOf({ compression }: WriteArrowOptions) {
  const codec = compression === 'lz4' ? CompressionType.LZ4_FRAME : CompressionType.ZSTD;
  return compression === undefined ? {} : { compressionType: codec };
}

class StreamWriter extends RecordBatchStreamWriter {
  protected override _compressBodyBuffers(buffers: ArrayBufferView[]) {
    return compressBuffers(buffers, this._compression?.type);
  }
}

class FileWriter extends RecordBatchFileWriter {
  protected override _compressBodyBuffers(buffers: ArrayBufferView[]) {
    return compressBuffers(buffers, this._compression?.type);
  }
}

/** A part of a stream: a batch, or values of a column's dictionary. */
export type StreamPart =
  | { readonly kind: 'batch'; readonly batch: RecordBatch }
  | { readonly kind: 'dictionary'; readonly id: number; readonly data: Data; readonly isDelta: boolean };

/** Writes an Arrow stream of these parts in order; the dictionaries of the batches themselves are not written. */
export function writeParts(schema: Schema, parts: readonly StreamPart[], options: WriteArrowOptions = {}): Uint8Array {
  const writer = new PartWriter(optionsOf(options));
  writer.reset(undefined, schema);
  for (const part of parts) {
    if (part.kind === 'batch') writer.write(part.batch);
    else writer.writeDictionary(part.data, part.id, part.isDelta);
  }
  return writer.finish().toUint8Array(true);
}

class PartWriter extends StreamWriter {
  protected override _writeDictionaries(): this {
    return this;
  }
  writeDictionary(data: Data, id: number, isDelta: boolean): void {
    this._writeDictionaryBatch(data, id, isDelta);
  }
}

/** Replaces the method of the writer, which stores the compressed length instead of the original one. */
function compressBuffers(buffers: readonly ArrayBufferView[], codec: CompressionType | undefined) {
  const parts: Uint8Array[] = [];
  const bufferRegions: BufferRegion[] = [];
  let byteLength = 0;
  buffers.forEach((buffer, i) => {
    const bytes = Buffer.from(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    // Every third buffer stays uncompressed, which the format marks with a length of -1.
    const isPlain = i % 3 === 2;
    const head = Buffer.alloc(bytes.length === 0 ? 0 : 8);
    if (bytes.length > 0) head.writeBigInt64LE(BigInt(isPlain ? -1 : bytes.length));
    const content =
      bytes.length === 0 || isPlain ? bytes : codec === CompressionType.ZSTD ? zstdFrame(bytes) : lz4Frame(bytes);
    const length = head.length + content.length;
    parts.push(head, content);
    bufferRegions.push(new BufferRegion(byteLength, length));
    byteLength += Math.ceil(length / 8) * 8;
  });
  return { byteLength, bufferRegions, buffers: parts };
}

/** A frame with blocks of literals. */
function lz4Frame(bytes: Buffer): Buffer {
  const parts = [Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0])];
  for (let at = 0; at < bytes.length; at += 100) {
    const block = bytes.subarray(at, at + 100);
    const literals = [Math.min(block.length, 15) << 4, ...(block.length < 15 ? [] : [block.length - 15])];
    const sequence = Buffer.concat([Buffer.from(literals), block]);
    const size = Buffer.alloc(4);
    size.writeUInt32LE(sequence.length);
    parts.push(size, sequence);
  }
  return Buffer.concat([...parts, Buffer.alloc(4)]);
}

/** A frame with run blocks if possible, else with raw blocks. */
function zstdFrame(bytes: Buffer): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0]);
  head.writeUInt32LE(bytes.length, 5);
  const parts: Uint8Array[] = [head];
  for (let at = 0; at < bytes.length; at += 1000) {
    const block = bytes.subarray(at, at + 1000);
    const isLast = at + 1000 >= bytes.length;
    const isRun = block.every((byte) => byte === block[0]);
    const blockHead = Buffer.alloc(3);
    blockHead.writeUIntLE((block.length << 3) | (isRun ? 2 : 0) | (isLast ? 1 : 0), 0, 3);
    parts.push(blockHead, isRun ? block.subarray(0, 1) : block);
  }
  return Buffer.concat(parts);
}
