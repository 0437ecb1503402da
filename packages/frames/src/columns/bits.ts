/** Whether the bit of this number is set. */
export function isBitSet(bits: Uint8Array, at: number): boolean {
  return (bits[at >> 3] & (1 << (at & 7))) !== 0;
}

/** Sets the bit of this number. */
export function setBit(bits: Uint8Array, at: number): void {
  bits[at >> 3] |= 1 << (at & 7);
}

/** How many of the first bits are set. */
export function countBits(bits: Uint8Array, length: number): number {
  let count = 0;
  const whole = length >> 3;
  for (let i = 0; i < whole; i++) count += BITS_SET[bits[i]];
  return length % 8 === 0 ? count : count + BITS_SET[bits[whole] & ((1 << (length % 8)) - 1)];
}

const BITS_SET = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

/** So many bits from a place on, the first of them at the start of a byte; nothing is copied where that is so already. */
export function sliceBits(bits: Uint8Array, start: number, length: number): Uint8Array {
  const first = start >> 3;
  const bytes = Math.ceil(length / 8);
  const shift = start & 7;
  if (shift === 0) return bits.subarray(first, first + bytes);
  const sliced = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i++) {
    // Beyond the last byte there is nothing, which counts as 0.
    sliced[i] = (bits[first + i] >> shift) | (bits[first + i + 1] << (8 - shift));
  }
  return sliced;
}
