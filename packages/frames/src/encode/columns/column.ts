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
  /** The most bytes a cell takes, beside its texts and items. */
  readonly fixedBytes: number;
  /** About how many bytes of the kernel's memory these rows take; never less than one in eight rows. */
  loadedBytes(from: number, to: number): number;
  /** Puts these rows into the kernel's memory, and into the description at `place`, which is all zeros, where they are. */
  load(kernel: Kernel, place: number, from: number, to: number): void;
}

/** Sets a field of a column's description. */
export function setField(kernel: Kernel, place: number, field: number, value: number): void {
  kernel.words[(place + field) >> 2] = value;
}

/** Makes room for descriptions, all zeros. */
export function allocateColumns(kernel: Kernel, count: number): number {
  const place = kernel.allocate(count * COLUMN_BYTES);
  kernel.bytes.fill(0, place, place + count * COLUMN_BYTES);
  return place;
}

/** Loads one column that another is made of. */
export function loadChild(kernel: Kernel, place: number, child: Column, from: number, to: number): void {
  const childPlace = allocateColumns(kernel, 1);
  child.load(kernel, childPlace, from, to);
  setField(kernel, place, CHILD, childPlace);
}

const NULL_BYTES = 4;

/** A column some of whose values may not be there. */
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

/** Puts the bytes that hold these bits into the kernel's memory. */
export function putBits(kernel: Kernel, bits: Uint8Array, from: number, to: number): number {
  const first = from >> 3;
  const last = (to + 7) >> 3;
  return kernel.put(bits.subarray(first, last), last - first);
}

/** A column whose cells stand between quotes. */
export function quotedColumn(column: Column): Column {
  return wrappedColumn(column, KIND_QUOTED);
}

/** A column that does something with the cells of another, for which it may take two bytes more. */
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

/** What stands around the cells of a record, as the kernel gets it. */
export interface RecordText {
  /** What stands before the cell of each column, one after the other, and then what stands behind the last cell. */
  readonly bytes: Uint8Array;
  /** Where what stands before each cell ends. */
  readonly ends: readonly number[];
}

/** The text around the cells of a record: before each of them, and behind the last. */
export function createRecordText(leads: readonly string[], trail: string): RecordText {
  let end = 0;
  const ends = leads.map((lead) => (end += Buffer.byteLength(lead)));
  return { bytes: Buffer.from(leads.join('') + trail), ends };
}

/** The text around the values of a JSON object: its keys, and `end` behind the last value. */
export function createObjectText(names: readonly string[], end: string): RecordText {
  return createRecordText(
    names.map((name, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    names.length === 0 ? `{${end}` : end,
  );
}

/** Cells of several columns one after the other: a row, or a struct. */
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
