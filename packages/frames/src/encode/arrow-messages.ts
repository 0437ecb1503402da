import { type Data, Message, RecordBatchWriter, type Schema } from 'apache-arrow';
import { createRecordBatch } from '../columns/create-record-batch.ts';
import type { FrameStream } from '../frame-stream.ts';
import { createCompactData } from './compact-data.ts';

/** One message of Arrow IPC. */
export interface ArrowMessage {
  /** What it is, as a flatbuffer, without the prefix and padding that a stream adds. */
  readonly header: Uint8Array;
  /** The parts of its body, one after the other: the buffers of the batch themselves, not copies, and padding. */
  readonly body: readonly Uint8Array[];
  readonly bodyLength: number;
}

/** The message with a schema. */
export function encodeArrowSchema(schema: Schema): ArrowMessage {
  const writer = new MessageWriter();
  writer.reset(undefined, schema);
  const [message] = writer.take();
  return message;
}

/**
 * Writes a frame as the messages of Arrow IPC: the schema, then dictionaries and batches. Batches of more than about
 * 1 MiB are written as several. One batch is encoded at a time, and only when the messages before it were taken.
 */
export async function* encodeArrowMessages(source: FrameStream): AsyncGenerator<ArrowMessage, void, undefined> {
  const writer = new MessageWriter();
  writer.reset(undefined, source.schema);
  yield* writer.take();
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
      // With the schema of the stream: the writer begins a new one where a batch's own differs, even in its metadata.
      const from = start;
      const part = columns.map((data) => compact(data, from, length));
      writer.write(createRecordBatch(source.schema, length, part));
      start += length;
      const messages = writer.take();
      const bytes = messages.reduce((sum, { header, bodyLength }) => sum + header.length + bodyLength, 0);
      // The bytes a batch holds say little where it is a view of a larger one, so every part corrects the guess.
      rows = Math.min(rowsWithin(length, bytes), MAX_GROWTH * length);
      yield* messages;
    }
  }
}

const BATCH_BYTES = 1024 * 1024;
/** A few rows that happen to be short say little about the next. */
const MAX_GROWTH = 8;

/** About how many rows make a batch, where `rows` of them take `bytes`. */
function rowsWithin(rows: number, bytes: number): number {
  return Math.max(1, Math.floor((rows * BATCH_BYTES) / Math.max(bytes, 1)));
}

/** Keeps headers and bodies apart for whoever takes them, where the class above it makes one queue of bytes of them. */
class MessageWriter extends RecordBatchWriter {
  private messages: { header: Uint8Array; body: Uint8Array[]; bodyLength: number }[] = [];

  protected override _writeMessage(message: Message): this {
    this.messages.push({ header: Message.encode(message), body: [], bodyLength: 0 });
    return this;
  }

  protected override _write(chunk: ArrayBufferView): this {
    const message = this.messages.at(-1);
    if (message !== undefined && chunk.byteLength > 0) {
      message.body.push(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      message.bodyLength += chunk.byteLength;
    }
    return this;
  }

  take(): readonly ArrowMessage[] {
    const { messages } = this;
    this.messages = [];
    return messages;
  }
}
