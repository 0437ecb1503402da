import protobuf from 'protobufjs/minimal.js';

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

/** What a peer may put into one message, to bound the time of its decoding. */
export interface MessageBounds {
  /** The most numbers: tags, lengths of messages and values. */
  readonly maxNumbers: number;
  /** The most bytes of all texts together. */
  readonly maxTextBytes: number;
}

/** Decodes a message of an untrusted peer. Throws a `RangeError` if it exceeds the bounds. */
export function decodeBounded<Message>(
  codec: { decode(input: protobuf.Reader): Message },
  bytes: Uint8Array,
  bounds: MessageBounds,
): Message {
  return codec.decode(new BoundedReader(bytes, bounds));
}

/** Counts what it reads: generated decoders read tags, lengths of messages and packed values with `uint32` alone. */
class BoundedReader extends protobuf.BufferReader {
  private readonly bounds: MessageBounds;
  private numbers = 0;
  private textBytes = 0;

  constructor(bytes: Uint8Array, bounds: MessageBounds) {
    super(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    this.bounds = bounds;
  }

  override uint32(): number {
    this.numbers += 1;
    if (this.numbers > this.bounds.maxNumbers) {
      throw new RangeError(`The message has more than ${this.bounds.maxNumbers} fields.`);
    }
    return super.uint32();
  }

  override string(): string {
    const start = this.pos;
    const { maxTextBytes } = this.bounds;
    this.textBytes += super.uint32();
    if (this.textBytes > maxTextBytes) throw new RangeError(`The message has more than ${maxTextBytes} bytes of text.`);
    this.pos = start;
    return super.string();
  }
}
