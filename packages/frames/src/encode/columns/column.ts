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
  /** Estimates the bytes of the kernel's memory that these rows take; at least one per eight rows. */
  loadedBytes(from: number, to: number): number;
  /** Copies these rows to the kernel's memory, and fills the zeroed column descriptor at `place`. */
  load(kernel: Kernel, place: number, from: number, to: number): void;
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

const NULL_BYTES = 4;

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
  return wrappedColumn(column, KIND_QUOTED);
}

/** Wraps a column to post-process its cells, which may add two bytes. */
export function wrappedColumn(column: Column, kind: number): Column {
  return {
    fixedBytes: column.fixedBytes + 2,
    loadedBytes: (from, to) => column.loadedBytes(from, to),
    load: (kernel, place, from, to) => {
      setField(kernel, place, KIND, kind);
      loadChild(kernel, place, column, from, to);
    },
  };
}

/** The text around the cells of a record, in the form that the kernel takes. */
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

/** Creates a column of records: a row, or a struct. */
export function recordColumn(columns: readonly Column[], { bytes, ends }: RecordText): Column {
  return {
    fixedBytes: columns.reduce((sum, column) => sum + column.fixedBytes, bytes.length),
    loadedBytes: (from, to) => columns.reduce((sum, column) => sum + column.loadedBytes(from, to), to - from),
    load: (kernel, place, from, to) => {
      const children = allocateColumns(kernel, columns.length);
      const text = kernel.put(bytes);
      setField(kernel, place, KIND, KIND_RECORD);
      setField(kernel, place, CHILD, children);
      setField(kernel, place, CHILD_COUNT, columns.length);
      let start = 0;
      columns.forEach((column, i) => {
        const child = children + i * COLUMN_BYTES;
        column.load(kernel, child, from, to);
        setField(kernel, child, LEAD, text + start);
        setField(kernel, child, LEAD_LENGTH, ends[i] - start);
        start = ends[i];
      });
      setField(kernel, place, TRAIL, text + start);
      setField(kernel, place, TRAIL_LENGTH, bytes.length - start);
    },
  };
}
