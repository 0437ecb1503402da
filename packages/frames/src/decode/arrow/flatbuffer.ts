import { ServiceError } from '@svc/errors';

/**
 * A table of a flatbuffer. Every read is checked against the end of the bytes: a pointer outside is a `RangeError`,
 * which `readFlatbuffer` converts to `invalid_data`.
 */
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

/** Reads a root table with the given function; malformed bytes are `invalid_data` about `what`. */
export function readFlatbuffer<Result>(bytes: Uint8Array, what: string, read: (root: FlatTable) => Result): Result {
  const { buffer, byteOffset, byteLength } = bytes;
  const view = new DataView(buffer, byteOffset, byteLength);
  try {
    return read(new CheckedTable(view, Buffer.from(buffer, byteOffset, byteLength), view.getUint32(0, true)));
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('invalid_data', `${what} cannot be read: its bytes are not a valid Arrow message.`, {
      cause: error,
    });
  }
}

/** A class, because a schema has several tables a column: closures for each of thousands of columns take long. */
class CheckedTable implements FlatTable {
  private readonly view: DataView;
  /** The same bytes: a buffer reads texts faster. */
  private readonly buffer: Buffer;
  private readonly position: number;
  private readonly vtable: number;
  private readonly vtableBytes: number;

  constructor(view: DataView, buffer: Buffer, position: number) {
    this.view = view;
    this.buffer = buffer;
    this.position = position;
    this.vtable = position - view.getInt32(position, true);
    this.vtableBytes = view.getUint16(this.vtable, true);
  }

  private place(slot: number): number {
    const entry = 4 + 2 * slot;
    const offset = entry < this.vtableBytes ? this.view.getUint16(this.vtable + entry, true) : 0;
    return offset === 0 ? 0 : this.position + offset;
  }

  private indirect(at: number): number {
    return at + this.view.getUint32(at, true);
  }

  /** Returns where the elements of a vector start. The number of them is before. */
  private start(slot: number, bytesPerElement: number): number {
    const at = this.place(slot);
    if (at === 0) return 0;
    const start = this.indirect(at) + 4;
    const count = this.view.getUint32(start - 4, true);
    if (start + count * bytesPerElement > this.view.byteLength) {
      throw new RangeError('A vector is longer than its message.');
    }
    return start;
  }

  byte(slot: number): number {
    const at = this.place(slot);
    return at === 0 ? 0 : this.view.getUint8(at);
  }

  short(slot: number, missing = 0): number {
    const at = this.place(slot);
    return at === 0 ? missing : this.view.getInt16(at, true);
  }

  int(slot: number, missing = 0): number {
    const at = this.place(slot);
    return at === 0 ? missing : this.view.getInt32(at, true);
  }

  size(slot: number): number {
    const at = this.place(slot);
    return at === 0 ? 0 : sizeAt(this.view, at);
  }

  text(slot: number): string {
    const start = this.start(slot, 1);
    return start === 0 ? '' : this.buffer.toString('utf8', start, start + this.lengthAt(start));
  }

  table(slot: number): FlatTable | undefined {
    const at = this.place(slot);
    return at === 0 ? undefined : this.at(this.indirect(at));
  }

  tables(slot: number): readonly FlatTable[] {
    const start = this.start(slot, 4);
    const count = this.lengthAt(start);
    if (count === 0) return NONE;
    return Array.from({ length: count }, (_, i) => this.at(this.indirect(start + 4 * i)));
  }

  ints(slot: number): readonly number[] {
    const start = this.start(slot, 4);
    return Array.from({ length: this.lengthAt(start) }, (_, i) => this.view.getInt32(start + 4 * i, true));
  }

  private at(position: number): CheckedTable {
    return new CheckedTable(this.view, this.buffer, position);
  }

  sizes(slot: number, sizesPerElement: number): readonly number[] {
    const start = this.start(slot, 8 * sizesPerElement);
    return Array.from({ length: this.lengthAt(start) * sizesPerElement }, (_, i) => sizeAt(this.view, start + 8 * i));
  }

  count(slot: number, bytesPerElement: number): number {
    return this.lengthAt(this.start(slot, bytesPerElement));
  }

  private lengthAt(start: number): number {
    return start === 0 ? 0 : this.view.getUint32(start - 4, true);
  }
}

const NONE: readonly FlatTable[] = [];

function sizeAt(view: DataView, at: number): number {
  const size = Number(view.getBigInt64(at, true));
  if (size < 0 || size > Number.MAX_SAFE_INTEGER) throw new RangeError('A length is negative or too large.');
  return size;
}
