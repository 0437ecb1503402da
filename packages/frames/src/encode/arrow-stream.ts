import { type Data, RecordBatchStreamWriter } from 'apache-arrow';
import { createRecordBatch } from '../create-record-batch.ts';
import type { FrameStream } from '../frame-stream.ts';
import { createCompactData } from './compact-data.ts';

/**
 * Writes a frame as an Arrow IPC stream, in chunks of at most 256 KiB. Batches of more than about 1 MiB are sent as
 * several. One batch is encoded at a time, and only when the chunks before it were taken.
 */
export async function* encodeArrowStream(source: FrameStream): AsyncGenerator<Uint8Array, void, undefined> {
  const writer = new CollectingWriter();
  writer.reset(undefined, source.schema);
  const compact = createCompactData();
  for await (const batch of source.batches) {
    const { numRows } = batch;
    // Such a batch of apache-arrow's own making has nested columns without children.
    if (numRows === 0) continue;
    const columns: readonly Data[] = batch.data.children;
    let rows = rowsWithin(numRows, batch.data.byteLength);
    for (let start = 0; start < numRows;) {
      const left = numRows - start;
      const length = left < 1.5 * rows ? left : rows;
      const pending = writer.pendingBytes;
      // With the schema of the stream: the writer begins a new one where a batch's own differs, even in its metadata.
      const from = start;
      const part = columns.map((data) => compact(data, from, length));
      writer.write(createRecordBatch(source.schema, length, part));
      start += length;
      // The bytes a batch holds say little where it is a view of a larger one, so every part corrects the guess.
      rows = Math.min(rowsWithin(length, writer.pendingBytes - pending), MAX_GROWTH * length);
      if (writer.pendingBytes >= CHUNK_BYTES) yield* chunksOf(writer.take());
    }
  }
  writer.close();
  yield* chunksOf(writer.take());
}

const CHUNK_BYTES = 256 * 1024;
const BATCH_BYTES = 1024 * 1024;
/** A few rows that happen to be short say little about the next. */
const MAX_GROWTH = 8;

/** About how many rows make a batch, where `rows` of them take `bytes`. */
function rowsWithin(rows: number, bytes: number): number {
  return Math.max(1, Math.floor((rows * BATCH_BYTES) / Math.max(bytes, 1)));
}

function* chunksOf(bytes: Uint8Array): Generator<Uint8Array, void, undefined> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES);
}

/** Keeps what is written for whoever takes it, where the class above it queues for an asynchronous reader. */
class CollectingWriter extends RecordBatchStreamWriter {
  pendingBytes = 0;
  private parts: Uint8Array[] = [];

  protected override _write(chunk: ArrayBufferView): this {
    if (this._started) {
      this.parts.push(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      this.pendingBytes += chunk.byteLength;
    }
    return this;
  }

  take(): Uint8Array {
    const bytes = Buffer.concat(this.parts, this.pendingBytes);
    this.parts = [];
    this.pendingBytes = 0;
    return bytes;
  }
}
