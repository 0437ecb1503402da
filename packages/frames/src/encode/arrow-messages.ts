import {
  Data,
  DataType,
  Message,
  MessageHeader,
  MetadataVersion,
  type RecordBatch,
  RecordBatchWriter,
  type Schema,
  Vector,
} from 'apache-arrow';
import { VectorAssembler } from 'apache-arrow/visitor/vectorassembler';
import { hasDictionary } from '../column-types.ts';
import { isViews, moveValues, partBytes, usedBytes, VIEW_BYTES, viewWords } from '../columns/column-data.ts';
import { createRecordBatch, valueBytes } from '../columns/record-batch.ts';
import { sliceData } from '../columns/slice-batches.ts';
import { encodeSchema } from '../decode/arrow/write-schema.ts';
import { createYield } from '../async.ts';
import type { FrameStream } from '../streams.ts';

/** One Arrow IPC message. */
export interface ArrowMessage {
  readonly kind: 'schema' | 'dictionary' | 'batch';
  /** The flatbuffer header, without the prefix and padding of a stream. */
  readonly header: Uint8Array;
  /** The body in order: the buffers of the batch, not copied, and padding. */
  readonly body: readonly Uint8Array[];
  readonly bodyLength: number;
}

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
/** With the last one, of up to half as much again, below the 4 MiB many gRPC clients accept by default. */
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
function encodeBatchHeader(rows: number, columns: Columns): Uint8Array {
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

/** Returns a range of rows of a column with only the buffers they need. */
type CompactData = (data: Data, start: number, length: number) => Data;

/**
 * The writer of apache-arrow sends all buffers of a view column, whether the rows need them or not. So rows that use
 * little of them get new buffers. The writer recognizes a dictionary by identity, so each dictionary is compacted only
 * once.
 */
function createCompactData(): CompactData {
  const dictionaries = new WeakMap<Vector, Vector>();
  const dictionaryParts = new WeakMap<Data, Data>();

  function compactPart(part: Data): Data {
    const compacted = dictionaryParts.get(part) ?? compact(part, 0, part.length);
    dictionaryParts.set(part, compacted);
    return compacted;
  }

  function compactDictionary(dictionary: Vector | undefined): Vector | undefined {
    if (dictionary === undefined) return undefined;
    const compacted = dictionaries.get(dictionary) ?? new Vector(dictionary.data.map(compactPart));
    dictionaries.set(dictionary, compacted);
    return compacted;
  }

  /** Compacts the dictionaries and views of a slice. */
  function tidied(slice: Data): Data {
    const { type, length, nullCount, nullBitmap, children, dictionary } = slice;
    const isPlain = children.length === 0 && dictionary === undefined && !isViews(type);
    if (isPlain || DataType.isUnion(type)) return slice;
    const views = isViews(type) ? compactViews(slice) : undefined;
    return new Data(
      type,
      0,
      length,
      nullCount,
      [slice.valueOffsets, views === undefined ? slice.values : views.values, nullBitmap],
      children.map(tidied),
      compactDictionary(dictionary),
      views?.parts ?? [],
    );
  }

  function compact(data: Data, start: number, length: number): Data {
    return tidied(sliceData(data, start, length));
  }

  return compact;
}

/** Returns views whose buffers are at least half used: the old ones, or a new one. */
function compactViews(slice: Data): { readonly values: Uint8Array; readonly parts: Uint8Array[] } {
  const values = valueBytes(slice).subarray(0, slice.length * VIEW_BYTES);
  const parts: readonly Uint8Array[] = slice.variadicBuffers;
  const views = { words: viewWords(values), rows: slice.length, parts, isNull: (row: number) => !slice.getValid(row) };
  const used = usedBytes(views);
  if (2 * used >= partBytes(views)) return { values, parts: [...parts] };
  const own = new Uint8Array(used);
  const moved = values.slice();
  moveValues({ ...views, words: viewWords(moved) }, own, 0);
  return { values: moved, parts: used === 0 ? [] : [own] };
}

/** The messages of batches that are encoded again and again: those of frames in memory. */
export interface KeptMessages {
  /** The estimated size of what is kept. */
  readonly bytes: number;
  /** Returns the messages of a batch, if they are kept. */
  get(batch: RecordBatch): readonly ArrowMessage[] | undefined;
  /** Starts to keep a batch that is encoded for the second time or later. A batch from disk is never seen again. */
  begin(batch: RecordBatch): MessageKeeper | undefined;
}

/** Takes the messages of one batch. */
interface MessageKeeper {
  add(message: ArrowMessage): void;
  /** Keeps what was added, if it is not too large. Call it after the last message. */
  end(): void;
}

const MAX_BYTES = 32 * 1024 * 1024;
/** The size of a view of memory, and its place in an array. */
const PART_BYTES = 112;

/** Creates an empty store of at most `maxBytes`. Its messages are freed with their batches. */
export function createKeptMessages(maxBytes: number = MAX_BYTES): KeptMessages {
  const seen = new WeakSet<RecordBatch>();
  const kept = new WeakMap<RecordBatch, readonly ArrowMessage[]>();
  let total = 0;
  const freed = new FinalizationRegistry<number>((bytes) => {
    total -= bytes;
  });

  function keeperOf(batch: RecordBatch): MessageKeeper {
    const own = buffersOf(batch.data);
    let messages: ArrowMessage[] | undefined = [];
    let bytes = 0;
    return {
      add(message) {
        bytes += sizeOf(message, own);
        // For good: there may be room again before the last message, but then the first ones would be missing.
        if (total + bytes > maxBytes) messages = undefined;
        messages?.push(message);
      },
      end() {
        // Another reader may have been faster.
        if (messages === undefined || total + bytes > maxBytes || kept.has(batch)) return;
        kept.set(batch, messages);
        total += bytes;
        freed.register(batch, bytes);
      },
    };
  }

  return {
    get bytes() {
      return total;
    },
    get: (batch) => kept.get(batch),
    begin(batch) {
      if (seen.has(batch)) return keeperOf(batch);
      seen.add(batch);
      return undefined;
    },
  };
}

/** Estimates what a message needs besides the memory of its batch. */
function sizeOf({ header, body }: ArrowMessage, own: ReadonlySet<ArrayBufferLike>): number {
  const copied = body.filter((part) => !own.has(part.buffer)).reduce((sum, part) => sum + part.length, 0);
  return header.length + copied + PART_BYTES * (body.length + 1);
}

function buffersOf({ valueOffsets, values, nullBitmap, variadicBuffers, children }: Data): Set<ArrayBufferLike> {
  const views: readonly (ArrayBufferView | undefined)[] = [valueOffsets, values, nullBitmap, ...variadicBuffers];
  const buffers = new Set(views.flatMap((view) => (view === undefined ? [] : [view.buffer])));
  for (const child of children) for (const buffer of buffersOf(child)) buffers.add(buffer);
  return buffers;
}

const keptMessages = createKeptMessages();
