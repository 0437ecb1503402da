// Written by the script "generate" from grpc/health/v1/health.proto: make changes there.
import protobuf from 'protobufjs/minimal.js';
import { type Partially } from '../codec.ts';

/** The service to check. */
export interface HealthCheckRequest {
  /** The full name of a service; empty = the server as a whole. */
  readonly service: string;
}

/** Writes and reads `HealthCheckRequest`. */
export const HealthCheckRequest = {
  encode(message: HealthCheckRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.service !== '') writer.uint32(10).string(message.service);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): HealthCheckRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let service = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          service = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('HealthCheckRequest ends inside a field.');
    return { service };
  },

  fromPartial(partial: Partially<HealthCheckRequest>): HealthCheckRequest {
    return {
      service: partial.service ?? '',
    };
  },
};

/** The possible states. */
export const HealthCheckResponseServingStatus = {
  /** Unknown. */
  UNKNOWN: 0,
  /** The service accepts calls. */
  SERVING: 1,
  /** The server is stopping. */
  NOT_SERVING: 2,
  /** There is no such service; only in responses of Watch. */
  SERVICE_UNKNOWN: 3,
} as const;
/** A number of `HealthCheckResponseServingStatus`, or one that a newer peer knows. */
export type HealthCheckResponseServingStatus = number;

/** A state. */
export interface HealthCheckResponse {
  /** The state. */
  readonly status: HealthCheckResponseServingStatus;
}

/** Writes and reads `HealthCheckResponse`. */
export const HealthCheckResponse = {
  encode(message: HealthCheckResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.status !== 0) writer.uint32(8).int32(message.status);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): HealthCheckResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let status = 0;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          status = reader.int32();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('HealthCheckResponse ends inside a field.');
    return { status };
  },

  fromPartial(partial: Partially<HealthCheckResponse>): HealthCheckResponse {
    return {
      status: partial.status ?? 0,
    };
  },
};

/** Reports whether the server, or one of its services, accepts calls. */
export const HealthDefinition = {
  name: 'Health',
  fullName: 'grpc.health.v1.Health',
  methods: {
    /** Returns the current state. NOT_FOUND for an unknown service. */
    check: {
      name: 'Check',
      requestType: HealthCheckRequest,
      requestStream: false,
      responseType: HealthCheckResponse,
      responseStream: false,
      options: {},
    },
    /** Returns the current state and every change. SERVICE_UNKNOWN for an unknown service. */
    watch: {
      name: 'Watch',
      requestType: HealthCheckRequest,
      requestStream: false,
      responseType: HealthCheckResponse,
      responseStream: true,
      options: {},
    },
  },
} as const;
