import { ServiceError } from '@svc/errors';

/**
 * A table of a flatbuffer. Every read is checked against the end of the bytes: a pointer outside is a `RangeError`,
 * which `readFlatbuffer` converts to `invalid_data`.
 */
export interface FlatTable {
  byte(slot: number): number;
  short(slot: number): number;
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
}

/** Reads a root table with the given function; malformed bytes are `invalid_data` about `what`. */
export function readFlatbuffer<Result>(bytes: Uint8Array, what: string, read: (root: FlatTable) => Result): Result {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return read(tableAt(view, view.getUint32(0, true)));
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('invalid_data', `${what} cannot be read: its bytes are not a valid Arrow message.`, {
      cause: error,
    });
  }
}

function tableAt(view: DataView, position: number): FlatTable {
  const vtable = position - view.getInt32(position, true);
  const vtableBytes = view.getUint16(vtable, true);

  function place(slot: number): number {
    const entry = 4 + 2 * slot;
    const offset = entry < vtableBytes ? view.getUint16(vtable + entry, true) : 0;
    return offset === 0 ? 0 : position + offset;
  }
  function indirect(at: number): number {
    return at + view.getUint32(at, true);
  }
  function vector(slot: number, bytesPerElement: number): { readonly start: number; readonly count: number } {
    const at = place(slot);
    if (at === 0) return { start: 0, count: 0 };
    const start = indirect(at) + 4;
    const count = view.getUint32(start - 4, true);
    if (start + count * bytesPerElement > view.byteLength) throw new RangeError('A vector is longer than its message.');
    return { start, count };
  }

  return {
    byte: (slot) => (place(slot) === 0 ? 0 : view.getUint8(place(slot))),
    short: (slot) => (place(slot) === 0 ? 0 : view.getInt16(place(slot), true)),
    size: (slot) => (place(slot) === 0 ? 0 : sizeAt(view, place(slot))),
    text(slot) {
      const { start, count } = vector(slot, 1);
      return Buffer.from(view.buffer, view.byteOffset + start, count).toString();
    },
    table: (slot) => (place(slot) === 0 ? undefined : tableAt(view, indirect(place(slot)))),
    tables(slot) {
      const { start, count } = vector(slot, 4);
      return Array.from({ length: count }, (_, i) => tableAt(view, indirect(start + 4 * i)));
    },
    sizes(slot, sizesPerElement) {
      const { start, count } = vector(slot, 8 * sizesPerElement);
      return Array.from({ length: count * sizesPerElement }, (_, i) => sizeAt(view, start + 8 * i));
    },
    count: (slot, bytesPerElement) => vector(slot, bytesPerElement).count,
  };
}

function sizeAt(view: DataView, at: number): number {
  const size = Number(view.getBigInt64(at, true));
  if (size < 0 || size > Number.MAX_SAFE_INTEGER) throw new RangeError('A length is negative or too large.');
  return size;
}
