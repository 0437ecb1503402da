/** A message as a caller writes it: what is left out is the zero of its type, or absent. */
export type Partially<T> = T extends bigint | boolean | number | string | Uint8Array
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Partially<Item>[]
    : { readonly [Key in keyof T]?: Partially<T[Key]> | undefined };

interface LongBits {
  readonly low: number;
  readonly high: number;
}

/** A 64-bit integer as protobufjs writes it. */
export function longFromBigint(value: bigint): LongBits & { readonly unsigned: boolean } {
  if (BigInt.asIntN(64, value) !== value) {
    throw new RangeError(`${value} does not fit into 64 bits.`);
  }
  return {
    low: Number(BigInt.asIntN(32, value)),
    high: Number(BigInt.asIntN(32, value >> 32n)),
    unsigned: false,
  };
}

/** A 64-bit integer that protobufjs read, exact. */
export function bigintFromLong(value: LongBits): bigint {
  return (BigInt(value.high) << 32n) | BigInt(value.low >>> 0);
}
