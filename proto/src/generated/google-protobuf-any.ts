// Written by the script "generate" from google/protobuf/any.proto: make changes there.
import protobuf from 'protobufjs/minimal.js';
import { type Partially } from '../codec.ts';

export interface Any {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

/** Writes and reads `Any`. */
export const Any = {
  encode(message: Any, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.typeUrl !== '') writer.uint32(10).string(message.typeUrl);
    if (message.value.length > 0) writer.uint32(18).bytes(message.value);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Any {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let typeUrl = '';
    let value: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          typeUrl = reader.string();
          break;
        case 18:
          value = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Any ends inside a field.');
    return { typeUrl, value };
  },

  fromPartial(partial: Partially<Any>): Any {
    return {
      typeUrl: partial.typeUrl ?? '',
      value: partial.value ?? new Uint8Array(0),
    };
  },
};
