import { ServiceError } from '@svc/errors';
import { arrayTypeOf, chunksOf, createRecordBatch, offsetsOf, typeOf, valueBytes, valuesOf } from '@svc/frames/columns';
import { Data, DataType, type RecordBatch, type Schema, type Vector } from 'apache-arrow';
import { arrayOver, type BatchReader, type BatchWriter, createBatchReader, createBatchWriter } from '../wire/batch.ts';
import { BATCH_BYTES, BATCH_ROWS } from '../wire/messages.ts';
import { sharedBytes } from './shared-values.ts';

/** An encoded batch. */
export interface BatchPayload extends ReturnType<BatchWriter['finish']> {
  readonly rows: number;
  /** About how many bytes the rows take when each has its own copy of its values. */
  readonly writtenBytes: number;
  /** True if the rows are long, alone or with their shared values. */
  readonly isLong: boolean;
}

/** Encodes record batches as payloads. The values of a dictionary are sent once, and again when they change. */
export interface BatchEncoder {
  /**
   * Splits a batch into payloads of about 2 MiB, whose rows take at most some MiB when they are written; a longer row is
   * alone. Buffers are not copied.
   */
  encode(batch: RecordBatch): Generator<BatchPayload, void, undefined>;
}

/** An encoder for the batches of one frame. */
export function createBatchEncoder(): BatchEncoder {
  const sent: (Vector | undefined)[] = [];
  return {
    *encode(batch) {
      if (batch.numRows === 0) return;
      const { children } = batch.data;
      const bytes = children.reduce((sum, data) => sum + weigh(data, 0, batch.numRows), 0);
      const perPiece = Math.floor((batch.numRows * BATCH_BYTES) / Math.max(bytes, 1));
      const pieceRows = Math.max(1, Math.min(perPiece, BATCH_ROWS));
      let rows = pieceRows;
      for (let start = 0; start < batch.numRows; start += rows) {
        const most = Math.min(2 * rows, pieceRows, batch.numRows - start);
        const piece = pieceOf(children, start, most);
        rows = piece.rows;
        const out = new ColumnEncoder(sent);
        out.writer.word(rows);
        // A frame without columns is stored with one column of nulls.
        if (children.length === 0) out.head(rows, 0, NO_BYTES);
        for (const data of children) out.column(data, start, rows);
        yield { ...piece, ...out.writer.finish() };
      }
    },
  };
}

/**
 * The most bytes of rows to write at a time. A child copies them in one step, and its other requests wait
 * meanwhile.
 */
const MAX_WRITTEN_BYTES = 2 * BATCH_BYTES;
/** A row of more bytes is long. */
const LONG_ROW_BYTES = 2 * MAX_WRITTEN_BYTES;
/** Rows with more shared bytes are long if they hardly have bytes of their own. */
const SHARED_BYTES_PER_ROW = 1024;

/** The most shared bytes of one row. */
const MAX_SHARED_BYTES = 256 * 1024 * 1024;

/** Returns how many of the rows are written at a time, and their size. */
function pieceOf(columns: readonly Data[], start: number, most: number): Omit<BatchPayload, 'parts' | 'length'> {
  for (let rows = most; ; rows = Math.ceil(rows / 2)) {
    const own = columns.reduce((sum, data) => sum + weigh(data, start, rows), 0);
    const shared = columns.reduce((sum, data) => sum + sharedBytes(data, start, rows), 0);
    if (rows === 1 && shared > MAX_SHARED_BYTES) throw rowTooLarge();
    const writtenBytes = own + shared;
    if (rows > 1 && writtenBytes > MAX_WRITTEN_BYTES) continue;
    const isLong = writtenBytes > LONG_ROW_BYTES || shared > Math.max(SHARED_BYTES_PER_ROW * rows, 8 * own);
    return { rows, writtenBytes, isLong };
  }
}

function rowTooLarge(): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `A row takes more than ${MAX_SHARED_BYTES} bytes when it has its own copy of its values.`,
    { hint: 'Send shorter values in dictionaries, or shorter lists of them.' },
  );
}

const NO_BYTES = new Uint8Array(0);

/** Estimates the size of some rows in bytes. */
function weigh(data: Data, start: number, rows: number): number {
  const { type, children } = data;
  if (data.valueOffsets === undefined) {
    const own = data.values === undefined ? rows / 8 : rows * bytesPerRow(data);
    const perRow = DataType.isFixedSizeList(type) ? type.listSize : 1;
    return own + children.reduce((sum, child) => sum + weigh(child, start * perRow, rows * perRow), 0);
  }
  const offsets = offsetsOf(data);
  const first = Number(offsets[start] ?? 0);
  const count = Number(offsets[start + rows] ?? 0) - first;
  return (
    4 * rows + (children.length === 0 ? count : children.reduce((sum, child) => sum + weigh(child, first, count), 0))
  );
}

function bytesPerRow(data: Data): number {
  return DataType.isBool(data.type) ? 1 : data.stride * valuesOf(data).BYTES_PER_ELEMENT;
}

/** Writes columns in the order of the child's column writers. */
class ColumnEncoder {
  readonly writer = createBatchWriter();
  private readonly sent: (Vector | undefined)[];
  private dictionaries = 0;

  constructor(sent: (Vector | undefined)[]) {
    this.sent = sent;
  }

  head(rows: number, bitOffset: number, bits: Uint8Array): void {
    this.writer.word(rows);
    this.writer.word(bitOffset);
    this.writer.buffer(bits);
  }

  column(data: Data, start: number, rows: number): void {
    const { type } = data;
    if (DataType.isNull(type)) {
      this.writer.word(rows);
      return;
    }
    const bitStart = data.offset + start;
    const bits = data.nullCount > 0 ? bitsOf(data.nullBitmap, bitStart, rows) : NO_BYTES;
    this.head(rows, bitStart & 7, bits);
    if (DataType.isBool(type)) {
      this.writer.word(bitStart & 7);
      this.writer.buffer(bitsOf(valueBytes(data), bitStart, rows));
    } else if (DataType.isDictionary(type)) {
      this.values(data, start, rows);
      this.dictionary(data.dictionary);
    } else if (data.valueOffsets !== undefined) {
      this.offsets(data, start, rows);
    } else if (DataType.isUtf8View(type) || DataType.isBinaryView(type)) {
      this.views(data, start, rows);
    } else if (data.children.length > 0) {
      const perRow = DataType.isFixedSizeList(type) ? type.listSize : 1;
      for (const child of data.children) this.column(child, start * perRow, rows * perRow);
    } else if (!DataType.isStruct(type)) {
      this.values(data, start, rows);
    }
  }

  private values(data: Data, start: number, rows: number): void {
    const { stride } = data;
    this.writer.buffer(bytesOf(valuesOf(data).subarray(stride * start, stride * (start + rows))));
  }

  private offsets(data: Data, start: number, rows: number): void {
    const offsets = offsetsOf(data);
    this.writer.buffer(bytesOf(offsets.subarray(start, start + rows + 1)));
    const first = Number(offsets[start] ?? 0);
    const last = Number(offsets[start + rows] ?? 0);
    const [child] = data.children;
    if (child === undefined) this.writer.buffer(bytesOf(valueBytes(data).subarray(first, last)));
    else this.column(child, first, last - first);
  }

  /** Copies only the view buffers of these rows. */
  private views(data: Data, start: number, rows: number): void {
    const views = bytesOf(valueBytes(data)).subarray(16 * start, 16 * (start + rows));
    const words = new DataView(views.buffer, views.byteOffset, views.byteLength);
    const ranges = data.variadicBuffers.map(() => ({ first: Infinity, end: 0 }));
    for (let at = 0; at < views.length; at += 16) {
      const length = words.getInt32(at, true);
      const range = length > 12 ? ranges[words.getInt32(at + 8, true)] : undefined;
      if (range === undefined) continue;
      const first = words.getInt32(at + 12, true);
      // The view of a null row can be anything.
      if (first < 0) continue;
      range.first = Math.min(range.first, first);
      range.end = Math.max(range.end, first + length);
    }
    this.writer.buffer(views);
    this.writer.word(ranges.length);
    for (const [i, { first, end }] of ranges.entries()) {
      const from = Math.min(first, end);
      this.writer.word(from);
      this.writer.buffer(bytesOf(data.variadicBuffers[i]).subarray(from, end));
    }
  }

  private dictionary(values: Vector | undefined): void {
    const place = this.dictionaries++;
    const parts = chunksOf(values);
    const isSent = this.sent[place] === values;
    this.sent[place] = values;
    this.writer.word(isSent ? 0 : parts.length);
    if (!isSent) for (const part of parts) this.column(part, 0, part.length);
  }
}

function bytesOf(view: ArrayBufferView | undefined): Uint8Array {
  return view === undefined ? NO_BYTES : new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

function bitsOf(bits: ArrayBufferView, start: number, rows: number): Uint8Array {
  return bytesOf(bits).subarray(start >> 3, (start + rows + 7) >> 3);
}

/** Decodes a payload of the child into a record batch over its memory. */
export function decodeBatch(schema: Schema, payload: ArrayBuffer): RecordBatch {
  const reader = createBatchReader(payload);
  const length = reader.word();
  const children = schema.fields.map((field) => dataFrom(typeOf(field), reader));
  return createRecordBatch(schema, length, children);
}

function dataFrom(type: DataType, reader: BatchReader): Data {
  const length = reader.word();
  const nullCount = reader.word();
  const validity = reader.buffer();
  if (DataType.isStruct(type)) {
    const children = type.children.map((child) => dataFrom(typeOf(child), reader));
    return new Data<DataType>(type, 0, length, nullCount, [undefined, undefined, validity], children);
  }
  if (DataType.isList(type) || DataType.isMap(type)) {
    const offsets = arrayOver(Int32Array, reader.buffer());
    const children = type.children.map((child) => dataFrom(typeOf(child), reader));
    return new Data<DataType>(type, 0, length, nullCount, [offsets, undefined, validity], children);
  }
  if (DataType.isUtf8(type) || DataType.isBinary(type)) {
    const offsets = arrayOver(Int32Array, reader.buffer());
    return new Data<DataType>(type, 0, length, nullCount, [offsets, reader.buffer(), validity]);
  }
  const values = DataType.isBool(type) ? reader.buffer() : arrayOver(arrayTypeOf(type), reader.buffer());
  return new Data(type, 0, length, nullCount, [undefined, values, validity]);
}
