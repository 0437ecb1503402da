import { MessageHeader, MetadataVersion } from 'apache-arrow';
import type { VectorAssembler } from 'apache-arrow/visitor/vectorassembler';

// The positions in the flatbuffer. A vtable precedes its table, and 64-bit numbers are aligned.
const MESSAGE_VTABLE = 4;
const MESSAGE = 16;
const BATCH_VTABLE = 36;
const BATCH = 52;
const VECTORS = 76;
/** The offsets of the vectors in the table of the batch. */
const NODES = 12;
const BUFFERS = 16;
const VARIADIC_COUNTS = 20;

/** The columns of a batch, as apache-arrow assembles them. */
type Columns = Pick<VectorAssembler, 'nodes' | 'bufferRegions' | 'variadicBufferCounts' | 'byteLength'>;

/**
 * Encodes the header of a record batch message. All such flatbuffers have the same layout, so the bytes are written in
 * place: the builder of apache-arrow takes several times as long, and thousands of columns would block the event loop.
 */
export function encodeBatchHeader(rows: number, columns: Columns): Uint8Array {
  const { nodes, bufferRegions, variadicBufferCounts, byteLength } = columns;
  // Each vector has four bytes of padding and four of its length.
  const hasCounts = variadicBufferCounts.length > 0;
  const numbers = 2 * nodes.length + 2 * bufferRegions.length + variadicBufferCounts.length;
  const bytes = new Uint8Array(VECTORS + 4 + 8 * (numbers + (hasCounts ? 2 : 1)));
  const view = new DataView(bytes.buffer);

  view.setUint32(0, MESSAGE, true);
  writeShorts(view, MESSAGE_VTABLE, [MESSAGE - MESSAGE_VTABLE, BATCH_VTABLE - MESSAGE, 16, 18, 4, 8]);
  view.setInt32(MESSAGE, MESSAGE - MESSAGE_VTABLE, true);
  view.setUint32(MESSAGE + 4, BATCH - (MESSAGE + 4), true);
  writeSize(view, MESSAGE + 8, byteLength);
  view.setInt16(MESSAGE + 16, MetadataVersion.V5, true);
  view.setUint8(MESSAGE + 18, MessageHeader.RecordBatch);

  // The fourth field is the compression.
  const vtable = [14, VECTORS - BATCH, 4, NODES, BUFFERS, 0, hasCounts ? VARIADIC_COUNTS : 0];
  writeShorts(view, BATCH_VTABLE, vtable);
  view.setInt32(BATCH, BATCH - BATCH_VTABLE, true);
  writeSize(view, BATCH + 4, rows);

  let at = VECTORS;
  const vector = (slot: number, length: number): void => {
    view.setUint32(BATCH + slot, at - (BATCH + slot), true);
    view.setUint32(at, length, true);
    at += 4;
  };
  vector(NODES, nodes.length);
  for (const { length, nullCount } of nodes) {
    writeSize(view, at, length);
    writeSize(view, at + 8, nullCount);
    at += 16;
  }
  at += 4;
  vector(BUFFERS, bufferRegions.length);
  for (const { offset, length } of bufferRegions) {
    writeSize(view, at, offset);
    writeSize(view, at + 8, length);
    at += 16;
  }
  if (!hasCounts) return bytes;
  at += 4;
  vector(VARIADIC_COUNTS, variadicBufferCounts.length);
  for (const count of variadicBufferCounts) {
    writeSize(view, at, count);
    at += 8;
  }
  return bytes;
}

function writeShorts(view: DataView, at: number, numbers: readonly number[]): void {
  for (const [i, number] of numbers.entries()) view.setUint16(at + 2 * i, number, true);
}

/** Writes a non-negative 64-bit number. */
function writeSize(view: DataView, at: number, size: number): void {
  view.setUint32(at, size, true);
  view.setUint32(at + 4, Math.floor(size / 2 ** 32), true);
}
