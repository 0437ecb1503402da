// Written by the script "generate" from google/protobuf/timestamp.proto: make changes there.
import protobuf from 'protobufjs/minimal.js';
import { bigintFromLong, longFromBigint, type Partially } from '../codec.ts';

export interface Timestamp {
  readonly seconds: bigint;
  readonly nanos: number;
}

/** Writes and reads `Timestamp`. */
export const Timestamp = {
  encode(message: Timestamp, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.seconds !== 0n) writer.uint32(8).int64(longFromBigint(message.seconds));
    if (message.nanos !== 0) writer.uint32(16).int32(message.nanos);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Timestamp {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let seconds = 0n;
    let nanos = 0;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          seconds = bigintFromLong(reader.int64());
          break;
        case 16:
          nanos = reader.int32();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Timestamp ends inside a field.');
    return { seconds, nanos };
  },

  fromPartial(partial: Partially<Timestamp>): Timestamp {
    return {
      seconds: partial.seconds ?? 0n,
      nanos: partial.nanos ?? 0,
    };
  },
};
