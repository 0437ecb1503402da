/** A growing buffer. Its memory is reused after `clear`. */
export class GrowingBytes {
  array = new Uint8Array(1024);
  length = 0;

  /** Ensures capacity for bytes that are written before it is known how many are used. */
  reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.array.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.array.length));
    larger.set(this.bytes);
    this.array = larger;
  }

  /** Extends the buffer; returns the offset of the new bytes. */
  grow(bytes: number): number {
    const start = this.length;
    this.reserve(bytes);
    this.length = start + bytes;
    return start;
  }

  add(bytes: Uint8Array): void {
    this.array.set(bytes, this.grow(bytes.length));
  }

  get bytes(): Uint8Array {
    return this.array.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
    // One huge value must not keep its memory for the rest of the read.
    if (this.array.length > KEPT_BYTES) this.array = new Uint8Array(1024);
  }
}

const KEPT_BYTES = 8 * 1024 * 1024;

/** A validity bitmap, allocated when the first null is added. */
export class GrowingValidity {
  length = 0;
  nullCount = 0;
  private bits = new Uint8Array(1024);
  private hasBits = false;

  /** Adds rows `start` to `start + count` of a vector; `validity` is null if all have a value. */
  add(validity: Uint8Array | null, start: number, count: number): void {
    if (validity === null && !this.hasBits) {
      this.length += count;
      return;
    }
    this.reserve(count);
    if (validity === null) this.fill(this.length, count);
    else if ((this.length & 7) === 0 && (start & 7) === 0) this.addBytes(validity, start, count);
    else this.addBits(validity, start, count);
    this.length += count;
  }

  isValid(row: number): boolean {
    return !this.hasBits || (((this.bits[row >> 3] ?? 0) >> (row & 7)) & 1) === 1;
  }

  /** Zeroes the values of null rows, which take `width` bytes each: a power of two. */
  clearNulls({ buffer, byteOffset }: Uint8Array<ArrayBuffer>, width: number): void {
    if (this.nullCount === 0) return;
    const ItemArray = ARRAYS.find(({ BYTES_PER_ELEMENT }) => BYTES_PER_ELEMENT === width) ?? Float64Array;
    const perRow = width / ItemArray.BYTES_PER_ELEMENT;
    const items = new ItemArray(buffer, byteOffset, this.length * perRow);
    for (let row = 0; row < this.length; row++) {
      const byte = this.bits[row >> 3] ?? 0;
      if (byte === 255) row |= 7;
      else if (((byte >> (row & 7)) & 1) === 0) {
        for (let i = row * perRow; i < (row + 1) * perRow; i++) items[i] = 0;
      }
    }
  }

  /** The bits; empty if no row is null. */
  get bytes(): Uint8Array {
    return this.nullCount === 0 ? this.bits.subarray(0, 0) : this.bits.subarray(0, (this.length + 7) >> 3);
  }

  clear(): void {
    this.length = 0;
    this.nullCount = 0;
    this.hasBits = false;
  }

  private reserve(count: number): void {
    const needed = ((this.length + count + 7) >> 3) + 8;
    if (needed > this.bits.length) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.bits.length));
      larger.set(this.bits);
      this.bits = larger;
    }
    if (this.hasBits) return;
    this.hasBits = true;
    this.fill(0, this.length);
  }

  private fill(from: number, count: number): void {
    const end = from + count;
    if (count === 0) return;
    const first = from >> 3;
    // Keep the bits before `from`; those after the end are written before they are read.
    const kept = (this.bits[first] ?? 0) & ((1 << (from & 7)) - 1);
    this.bits.fill(255, first, (end + 7) >> 3);
    this.bits[first] = kept | (255 << (from & 7));
  }

  private addBytes(validity: Uint8Array, start: number, count: number): void {
    const bytes = (count + 7) >> 3;
    const at = this.length >> 3;
    this.bits.set(validity.subarray(start >> 3, (start >> 3) + bytes), at);
    let valid = 0;
    const whole = count >> 3;
    for (let i = 0; i < whole; i++) valid += BIT_COUNTS[this.bits[at + i] ?? 0] ?? 0;
    if ((count & 7) !== 0) valid += BIT_COUNTS[(this.bits[at + whole] ?? 0) & ((1 << (count & 7)) - 1)] ?? 0;
    this.nullCount += count - valid;
  }

  private addBits(validity: Uint8Array, start: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const at = this.length + i;
      const mask = 1 << (at & 7);
      const byte = (this.bits[at >> 3] ?? 0) & ~mask;
      const isValid = ((validity[(start + i) >> 3] ?? 0) >> ((start + i) & 7)) & 1;
      this.bits[at >> 3] = isValid === 1 ? byte | mask : byte;
      this.nullCount += 1 - isValid;
    }
  }
}

/** The arrays of items that are shorter than 8 bytes. */
const ARRAYS = [Uint8Array, Uint16Array, Uint32Array];

const BIT_COUNTS = Uint8Array.from({ length: 256 }, (_, byte) => {
  let bits = 0;
  for (let rest = byte; rest > 0; rest >>= 1) bits += rest & 1;
  return bits;
});
