/** A message with optional fields; a missing field is the zero value of its type, or absent. */
export type Partially<T> = T extends bigint | boolean | number | string | Uint8Array | ReadonlyMap<string, unknown>
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Partially<Item>[]
    : { readonly [Key in keyof T]?: Partially<T[Key]> | undefined };

interface LongBits {
  readonly low: number;
  readonly high: number;
  readonly unsigned: boolean;
}

/** Converts a 64-bit integer for protobufjs. */
export function longFromBigint(value: bigint, unsigned = false): LongBits {
  if ((unsigned ? BigInt.asUintN(64, value) : BigInt.asIntN(64, value)) !== value) {
    throw new RangeError(`${value} does not fit into 64 bits.`);
  }
  return { low: Number(BigInt.asIntN(32, value)), high: Number(BigInt.asIntN(32, value >> 32n)), unsigned };
}

/** Converts a 64-bit integer of protobufjs, exactly. */
export function bigintFromLong(value: LongBits): bigint {
  const high = BigInt(value.unsigned ? value.high >>> 0 : value.high);
  return (high << 32n) | BigInt(value.low >>> 0);
}
