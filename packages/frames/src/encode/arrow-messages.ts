import { type Data, Message, type RecordBatch, RecordBatchWriter, type Schema } from 'apache-arrow';
import { VectorAssembler } from 'apache-arrow/visitor/vectorassembler';
import { hasDictionary } from '../arrow-types.ts';
import { createRecordBatch } from '../columns/create-record-batch.ts';
import { createYield } from '../decode/lines/create-yield.ts';
import type { FrameStream } from '../frame-stream.ts';
import { encodeBatchHeader } from './arrow-batch-header.ts';
import { encodeSchema } from '../decode/arrow/arrow-schema-message.ts';
import type { ArrowMessage } from './arrow-message.ts';
import { createCompactData } from './compact-data.ts';
import { createKeptMessages } from './kept-messages.ts';

/** The same schema is stored, described and sent, and thousands of columns take 20 ms each time. */
const schemaMessages = new WeakMap<Schema, ArrowMessage>();

/** Encodes a schema as a message. Later calls return the same one. */
export function encodeArrowSchema(schema: Schema): ArrowMessage {
  const known = schemaMessages.get(schema);
  if (known !== undefined) return known;
  const message = { kind: 'schema', header: encodeSchema(schema), body: [], bodyLength: 0 } as const;
  schemaMessages.set(schema, message);
  return message;
}

const keptMessages = createKeptMessages();

/**
 * Encodes a frame as Arrow IPC messages: the schema, then dictionaries and batches. Batches of more than about 2 MiB
 * are split. One batch is encoded at a time, and only after the earlier messages were consumed. The messages of a batch
 * that is encoded repeatedly are kept. The event loop runs between messages and columns that take long.
 */
export async function* encodeArrowMessages(source: FrameStream): AsyncGenerator<ArrowMessage, void, undefined> {
  const writer = new MessageWriter();
  const turn = createYield();
  writer.reset(undefined, source.schema);
  yield encodeArrowSchema(source.schema);
  await turn();
  const compact = createCompactData();
  // A dictionary is sent only if this stream has not sent it yet.
  const canKeep = !source.schema.fields.some(hasDictionary);
  for await (const batch of source.batches) {
    const { numRows } = batch;
    // An empty batch created by apache-arrow has nested columns without children.
    if (numRows === 0) continue;
    const kept = keptMessages.get(batch);
    if (kept !== undefined) {
      yield* kept;
      continue;
    }
    const keeper = canKeep ? keptMessages.begin(batch) : undefined;
    const columns: readonly Data[] = batch.data.children;
    let rows = rowsWithin(numRows, batch.data.byteLength);
    for (let start = 0; start < numRows;) {
      const left = numRows - start;
      const length = left < 1.5 * rows ? left : rows;
      // Use the schema of the stream: the writer starts a new one if a batch's schema differs, even in metadata.
      const from = start;
      const part: Data[] = [];
      const assembler = VectorAssembler.assemble();
      for (const data of columns) {
        const column = compact(data, from, length);
        part.push(column);
        assembler.visit(column);
        if (part.length % COLUMNS_A_TURN === 0) await turn();
      }
      if (!canKeep) writer.writeDictionaries(createRecordBatch(source.schema, length, part));
      await turn();
      writer.writeBatch(length, assembler);
      start += length;
      const messages = writer.take();
      const bytes = messages.reduce((sum, { header, bodyLength }) => sum + header.length + bodyLength, 0);
      // The size of a batch says little if it is a view of a larger one, so every part corrects the estimate.
      rows = Math.min(rowsWithin(length, bytes), MAX_GROWTH * length);
      for (const message of messages) keeper?.add(message);
      yield* messages;
      await turn();
    }
    keeper?.end();
  }
}

/** The columns between two checks of the clock: these take about a millisecond. */
const COLUMNS_A_TURN = 100;
/** With the last one, of up to half as much again, below the 4 MiB that many gRPC clients accept by default. */
const BATCH_BYTES = 2 * 1024 * 1024;
/** A few short rows say little about the next ones. */
const MAX_GROWTH = 8;

/** Estimates the rows of a batch, if `rows` rows take `bytes`. */
function rowsWithin(rows: number, bytes: number): number {
  return Math.max(1, Math.floor((rows * BATCH_BYTES) / Math.max(bytes, 1)));
}

/** Keeps headers and bodies separate; the base class concatenates them. */
class MessageWriter extends RecordBatchWriter {
  private messages: { kind: ArrowMessage['kind']; header: Uint8Array; body: Uint8Array[]; bodyLength: number }[] = [];

  /** Writes nothing: the message of the schema is encoded once for all streams. */
  protected override _writeSchema(): this {
    return this;
  }

  /** Called for dictionaries: `writeBatch` writes the batches. */
  protected override _writeMessage(message: Message): this {
    this.messages.push({ kind: 'dictionary', header: Message.encode(message), body: [], bodyLength: 0 });
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

  /** Writes the dictionaries of a batch that were not written yet. */
  writeDictionaries(batch: RecordBatch): void {
    this._writeDictionaries(batch);
  }

  /** Writes the columns of a batch. */
  writeBatch(rows: number, columns: VectorAssembler): void {
    this.messages.push({ kind: 'batch', header: encodeBatchHeader(rows, columns), body: [], bodyLength: 0 });
    this._writeBodyBuffers(columns.buffers);
  }

  take(): readonly ArrowMessage[] {
    const { messages } = this;
    this.messages = [];
    return messages;
  }
}
