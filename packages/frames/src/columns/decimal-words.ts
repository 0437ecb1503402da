/** Reads an integer of several 32-bit words, the lowest first. */
export function integerAt(words: ArrayLike<number | bigint>, row: number, stride: number): bigint {
  let value = 0n;
  for (let i = stride - 1; i >= 0; i--) value = (value << 32n) | BigInt(words[row * stride + i] ?? 0);
  return BigInt.asIntN(32 * stride, value);
}
