/** Whether bit `at` is set. */
export function isBitSet(bits: Uint8Array, at: number): boolean {
  return (bits[at >> 3] & (1 << (at & 7))) !== 0;
}

/** Sets bit `at`. */
export function setBit(bits: Uint8Array, at: number): void {
  bits[at >> 3] |= 1 << (at & 7);
}

/** Counts the set bits among the first `length`. */
export function countBits(bits: Uint8Array, length: number): number {
  let count = 0;
  const whole = length >> 3;
  for (let i = 0; i < whole; i++) count += BITS_SET[bits[i]];
  return length % 8 === 0 ? count : count + BITS_SET[bits[whole] & ((1 << (length % 8)) - 1)];
}

const BITS_SET = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

/** Returns `length` bits from `start`, aligned to a byte. Copies only if `start` is not aligned. */
export function sliceBits(bits: Uint8Array, start: number, length: number): Uint8Array {
  const first = start >> 3;
  const bytes = Math.ceil(length / 8);
  const shift = start & 7;
  if (shift === 0) return bits.subarray(first, first + bytes);
  const sliced = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i++) {
    // Past the last byte, undefined counts as 0.
    sliced[i] = (bits[first + i] >> shift) | (bits[first + i + 1] << (8 - shift));
  }
  return sliced;
}
