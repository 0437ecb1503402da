import type { Data } from 'apache-arrow';
import type { Kernel } from '../kernel/kernel.ts';
import {
  CHILD,
  CHILD_COUNT,
  COLUMN_BYTES,
  IS_CSV,
  KIND,
  KIND_QUOTED,
  KIND_RECORD,
  LEAD,
  LEAD_LENGTH,
  TRAIL,
  TRAIL_LENGTH,
  VALIDITY,
  VALIDITY_BIT,
} from '../kernel/kernel-layout.ts';

/** One column of a batch, ready to be written. */
export interface Column {
  /** The maximum bytes of a cell, except for its texts and items. */
  readonly fixedBytes: number;
  /**
   * Estimates the bytes of the kernel's memory these rows take; at least one per eight rows. Past WINDOW_BYTES it
   * need not count on.
   */
  loadedBytes(from: number, to: number): number;
  /** Copies these rows to the kernel's memory, and fills the zeroed column descriptor at `place`. */
  load(kernel: Kernel, place: number, from: number, to: number): void;
  /** Writes a cell that is too long for one piece; undefined if no cell is. */
  readonly pieces?: (row: number, writer: PieceWriter) => Pieces;
}

/**
 * The text of a long cell, a piece at a time, so the event loop can turn between them. Each piece is valid until
 * the kernel is used again. An empty piece stands for work without text, such as a failed try to write all at once.
 */
export type Pieces = Generator<Uint8Array, void, undefined>;

/** Cells that are written until space runs out. */
interface Cells {
  /** The next cell to write. */
  readonly row: number;
  /** Writes cells up to `last`, until space runs out; undefined if the next cell is too long for that. */
  writeUpTo(last: number): { readonly bytes: Uint8Array } | undefined;
  /** Marks the next cell as written. */
  skip(): void;
}

/** Writes the parts of long cells. */
export interface PieceWriter {
  /** The maximum bytes of a text such that it fits with every byte escaped; a multiple of three. */
  readonly textBytes: number;
  open(column: Column, from: number, to: number): Cells;
}

/** The maximum length of a row. Values that share bytes can make a row far longer than the frame. */
export const MAX_ROW_BYTES = 128 * 1024 * 1024;

/** The number of bytes loaded at a time; a longer row is written in pieces. */
export const WINDOW_BYTES = 1024 * 1024;

export const NOTHING: Uint8Array = new Uint8Array(0);
export const QUOTE: Uint8Array = Buffer.from('"');
export const COMMA: Uint8Array = Buffer.from(',');

/** Creates the error of an offset or index that is out of range, as the kernel finds it in short cells. */
export function outOfBounds(): RangeError {
  return new RangeError('A value of the frame points outside its buffer.');
}

/** Writes one cell: at once if it is short. */
export function* cellPieces(column: Column, row: number, writer: PieceWriter): Pieces {
  const written = writer.open(column, row, row + 1).writeUpTo(row + 1);
  yield written?.bytes ?? NOTHING;
  if (written !== undefined) return;
  if (column.pieces === undefined) throw new RangeError('A number takes more bytes than there is space for.');
  yield* column.pieces(row, writer);
}

/** Sets a field of a column descriptor. */
export function setField(kernel: Kernel, place: number, field: number, value: number): void {
  kernel.words[(place + field) >> 2] = value;
}

/** Allocates zeroed column descriptors. */
export function allocateColumns(kernel: Kernel, count: number): number {
  const place = kernel.allocate(count * COLUMN_BYTES);
  kernel.bytes.fill(0, place, place + count * COLUMN_BYTES);
  return place;
}

/** Loads a child column. */
export function loadChild(kernel: Kernel, place: number, child: Column, from: number, to: number): void {
  const childPlace = allocateColumns(kernel, 1);
  child.load(kernel, childPlace, from, to);
  setField(kernel, place, CHILD, childPlace);
}

const NULL = Buffer.from('null');
const NULL_BYTES = NULL.length;

/** Wraps a column that may have nulls. */
export function nullableColumn(column: Column, data: Data, isCsv: boolean): Column {
  if (data.nullCount === 0) return column;
  const bitmap: Uint8Array = data.nullBitmap;
  return {
    fixedBytes: Math.max(column.fixedBytes, NULL_BYTES),
    loadedBytes: (from, to) => column.loadedBytes(from, to) + ((to - from) >> 3),
    load: (kernel, place, from, to) => {
      column.load(kernel, place, from, to);
      setField(kernel, place, VALIDITY, putBits(kernel, bitmap, data.offset + from, data.offset + to));
      setField(kernel, place, VALIDITY_BIT, (data.offset + from) & 7);
      setField(kernel, place, IS_CSV, isCsv ? 1 : 0);
    },
    // The bytes of a null row can be long.
    *pieces(row, writer) {
      const bit = data.offset + row;
      if (((bitmap[bit >> 3] ?? 0) >> (bit & 7)) & 1) yield* cellPieces(column, row, writer);
      else if (!isCsv) yield NULL;
    },
  };
}

/** Copies the bytes that contain these bits to the kernel's memory. */
export function putBits(kernel: Kernel, bits: Uint8Array, from: number, to: number): number {
  const first = from >> 3;
  const last = (to + 7) >> 3;
  return kernel.put(bits.subarray(first, last), last - first);
}

/** Wraps a column to write its cells in quotes. */
export function quotedColumn(column: Column): Column {
  return wrappedColumn(column, KIND_QUOTED, quotedPieces);
}

function* quotedPieces(pieces: Pieces): Pieces {
  yield QUOTE;
  yield* pieces;
  yield QUOTE;
}

/** Wraps a column to post-process its cells, which may add two bytes, or their pieces. */
export function wrappedColumn(
  column: Column,
  kind: number,
  wrap: (pieces: Pieces, writer: PieceWriter) => Pieces,
): Column {
  return {
    fixedBytes: column.fixedBytes + 2,
    loadedBytes: (from, to) => column.loadedBytes(from, to),
    load: (kernel, place, from, to) => {
      setField(kernel, place, KIND, kind);
      loadChild(kernel, place, column, from, to);
    },
    pieces: (row, writer) => wrap(cellPieces(column, row, writer), writer),
  };
}

/** The text around the cells of a record, in the form the kernel takes. */
export interface RecordText {
  /** The text before each cell, concatenated, followed by the text after the last cell. */
  readonly bytes: Uint8Array;
  /** The end of the text before each cell. */
  readonly ends: readonly number[];
}

/** Creates the text around the cells of a record: before each cell, and after the last. */
export function createRecordText(leads: readonly string[], trail: string): RecordText {
  let end = 0;
  const ends = leads.map((lead) => (end += Buffer.byteLength(lead)));
  return { bytes: Buffer.from(leads.join('') + trail), ends };
}

/** Creates the text around the values of a JSON object: its keys, and `end` after the last value. */
export function createObjectText(names: readonly string[], end: string): RecordText {
  return createRecordText(
    names.map((name, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    names.length === 0 ? `{${end}` : end,
  );
}

/** Returns the text around some of the cells: that after the last belongs to the last cell. */
function textAround({ bytes, ends }: RecordText, from: number, to: number): RecordText {
  const start = from === 0 ? 0 : ends[from - 1];
  const end = to === ends.length ? bytes.length : ends[to - 1];
  return { bytes: bytes.subarray(start, end), ends: ends.slice(from, to).map((leadEnd) => leadEnd - start) };
}

/** Creates a column of records: a row, or a struct. */
export function recordColumn(columns: readonly Column[], text: RecordText): Column {
  const { bytes, ends } = text;
  const part = (from: number, to: number) => recordColumn(columns.slice(from, to), textAround(text, from, to));
  return {
    fixedBytes: columns.reduce((sum, column) => sum + column.fixedBytes, bytes.length),
    loadedBytes: (from, to) => columns.reduce((sum, column) => sum + column.loadedBytes(from, to), to - from),
    load: (kernel, place, from, to) => {
      const children = allocateColumns(kernel, columns.length);
      const texts = kernel.put(bytes);
      setField(kernel, place, KIND, KIND_RECORD);
      setField(kernel, place, CHILD, children);
      setField(kernel, place, CHILD_COUNT, columns.length);
      let start = 0;
      columns.forEach((column, i) => {
        const child = children + i * COLUMN_BYTES;
        column.load(kernel, child, from, to);
        setField(kernel, child, LEAD, texts + start);
        setField(kernel, child, LEAD_LENGTH, ends[i] - start);
        start = ends[i];
      });
      setField(kernel, place, TRAIL, texts + start);
      setField(kernel, place, TRAIL_LENGTH, bytes.length - start);
    },
    *pieces(row, writer) {
      if (columns.length > 1) {
        const middle = columns.length >> 1;
        yield* cellPieces(part(0, middle), row, writer);
        yield* cellPieces(part(middle, columns.length), row, writer);
      } else {
        yield bytes.subarray(0, ends[0]);
        yield* cellPieces(columns[0], row, writer);
        yield bytes.subarray(ends[0]);
      }
    },
  };
}
