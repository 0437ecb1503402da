/** A table of a flatbuffer. A read outside of the bytes is a `RangeError`. */
export interface FlatTable {
  byte(slot: number): number;
  /** Reads a number of 16 or 32 bits; `missing` if it is not there. */
  short(slot: number, missing?: number): number;
  int(slot: number, missing?: number): number;
  /** Reads a non-negative 64-bit length, offset or id. */
  size(slot: number): number;
  /** Reads a text; empty if it is missing. */
  text(slot: number): string;
  table(slot: number): FlatTable | undefined;
  tables(slot: number): readonly FlatTable[];
  /** Reads a vector of structs or scalars that consist of 64-bit sizes. */
  sizes(slot: number, sizesPerElement: number): readonly number[];
  /** Returns the length of a vector, after a check that its elements are there. */
  count(slot: number, bytesPerElement: number): number;
  /** Reads a vector of 32-bit integers. */
  ints(slot: number): readonly number[];
}

/** Decodes the UTF-8 text between two places. */
type TextAt = (start: number, end: number) => string;

/** Returns the root table of a flatbuffer. A caller in Node can pass a faster way to decode texts. */
export function readFlatbuffer(bytes: Uint8Array, textAt?: TextAt): FlatTable {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const decode: TextAt = textAt ?? ((start, end) => DECODER.decode(bytes.subarray(start, end)));
  return new CheckedTable(view, decode, view.getUint32(0, true));
}

/** Decodes UTF-8. A U+FEFF at the start of a text is part of it. */
export const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });

/** A class, because a schema has several tables a column: closures for each of thousands of columns take long. */
class CheckedTable implements FlatTable {
  private readonly view: DataView;
  private readonly textAt: TextAt;
  private readonly position: number;
  private readonly vtable: number;
  private readonly vtableBytes: number;

  constructor(view: DataView, textAt: TextAt, position: number) {
    this.view = view;
    this.textAt = textAt;
    this.position = position;
    this.vtable = position - view.getInt32(position, true);
    this.vtableBytes = view.getUint16(this.vtable, true);
  }

  /** Returns where the value of a field is; 0 if it is missing. */
  private place(slot: number): number {
    const entry = 4 + 2 * slot;
    const offset = entry < this.vtableBytes ? this.view.getUint16(this.vtable + entry, true) : 0;
    return offset && this.position + offset;
  }

  /** Returns where the elements of a vector start, after their number; 0 if it is missing. */
  private start(slot: number, bytesPerElement: number): number {
    const at = this.place(slot);
    const start = at && at + this.view.getUint32(at, true) + 4;
    if (start + this.countAt(start) * bytesPerElement > this.view.byteLength) throw outside();
    return start;
  }

  private countAt(start: number): number {
    return start && this.view.getUint32(start - 4, true);
  }

  /** Reads a vector whose elements consist of `perElement` values. */
  private items<T>(slot: number, bytes: number, perElement: number, read: (at: number) => T): readonly T[] {
    const start = this.start(slot, bytes * perElement);
    const count = this.countAt(start) * perElement;
    return count === 0 ? [] : Array.from({ length: count }, (_, i) => read(start + bytes * i));
  }

  private tableAt(place: number): FlatTable {
    return new CheckedTable(this.view, this.textAt, place + this.view.getUint32(place, true));
  }

  byte(slot: number): number {
    const at = this.place(slot);
    return at && this.view.getUint8(at);
  }

  short(slot: number, missing = 0): number {
    const at = this.place(slot);
    return at ? this.view.getInt16(at, true) : missing;
  }

  int(slot: number, missing = 0): number {
    const at = this.place(slot);
    return at ? this.view.getInt32(at, true) : missing;
  }

  size(slot: number): number {
    const at = this.place(slot);
    return at && sizeAt(this.view, at);
  }

  text(slot: number): string {
    const start = this.start(slot, 1);
    return start ? this.textAt(start, start + this.countAt(start)) : '';
  }

  table(slot: number): FlatTable | undefined {
    const at = this.place(slot);
    return at ? this.tableAt(at) : undefined;
  }

  tables(slot: number): readonly FlatTable[] {
    return this.items(slot, 4, 1, (at) => this.tableAt(at));
  }

  sizes(slot: number, sizesPerElement: number): readonly number[] {
    return this.items(slot, 8, sizesPerElement, (at) => sizeAt(this.view, at));
  }

  ints(slot: number): readonly number[] {
    return this.items(slot, 4, 1, (at) => this.view.getInt32(at, true));
  }

  count(slot: number, bytesPerElement: number): number {
    return this.countAt(this.start(slot, bytesPerElement));
  }
}

function outside(): RangeError {
  return new RangeError('A length is outside of the bytes.');
}

function sizeAt(view: DataView, at: number): number {
  const size = Number(view.getBigInt64(at, true));
  if (size < 0 || size > Number.MAX_SAFE_INTEGER) throw outside();
  return size;
}
