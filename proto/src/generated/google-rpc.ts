// Written by the script "generate" from google/rpc/status.proto: make changes there.
import protobuf from 'protobufjs/minimal.js';
import { type Partially } from '../codec.ts';
import { Any } from './google-protobuf-any.ts';

/** The value of the trailer grpc-status-details-bin. */
export interface Status {
  readonly code: number;
  readonly message: string;
  readonly details: readonly Any[];
}

/** Writes and reads `Status`. */
export const Status = {
  encode(message: Status, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.code !== 0) writer.uint32(8).int32(message.code);
    if (message.message !== '') writer.uint32(18).string(message.message);
    for (const item of message.details) Any.encode(item, writer.uint32(26).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Status {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let code = 0;
    let message = '';
    const details: Any[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          code = reader.int32();
          break;
        case 18:
          message = reader.string();
          break;
        case 26:
          details.push(Any.decode(reader, reader.uint32()));
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Status ends inside a field.');
    return { code, message, details };
  },

  fromPartial(partial: Partially<Status>): Status {
    return {
      code: partial.code ?? 0,
      message: partial.message ?? '',
      details: partial.details?.map((item) => Any.fromPartial(item)) ?? [],
    };
  },
};

/** A detail: why a call failed, for programs. */
export interface ErrorInfo {
  readonly reason: string;
  readonly domain: string;
  readonly metadata: ReadonlyMap<string, string>;
}

/** Writes and reads `ErrorInfo`. */
export const ErrorInfo = {
  encode(message: ErrorInfo, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.reason !== '') writer.uint32(10).string(message.reason);
    if (message.domain !== '') writer.uint32(18).string(message.domain);
    for (const [key, value] of message.metadata) {
      writer.uint32(26).fork().uint32(10).string(key);
      writer.uint32(18).string(value);
      writer.ldelim();
    }
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ErrorInfo {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let reason = '';
    let domain = '';
    const metadata = new Map<string, string>();
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          reason = reader.string();
          break;
        case 18:
          domain = reader.string();
          break;
        case 26: {
          const stop = reader.uint32() + reader.pos;
          let key = '';
          let value: string = '';
          while (reader.pos < stop) {
            const part = reader.uint32();
            if (part === 10) key = reader.string();
            else if (part === 18) value = reader.string();
            else reader.skipType(part & 7);
          }
          metadata.set(key, value);
          break;
        }
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ErrorInfo ends inside a field.');
    return { reason, domain, metadata };
  },

  fromPartial(partial: Partially<ErrorInfo>): ErrorInfo {
    return {
      reason: partial.reason ?? '',
      domain: partial.domain ?? '',
      metadata: partial.metadata ?? new Map(),
    };
  },
};
