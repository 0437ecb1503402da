// Written by the script "generate" from arrow/flight/protocol/flight.proto: make changes there.
import protobuf from 'protobufjs/minimal.js';
import { bigintFromLong, longFromBigint, type Partially } from '../codec.ts';
import { Timestamp } from './google-protobuf-timestamp.ts';

/** A handshake message of the client. */
export interface HandshakeRequest {
  /** Any; there is one version. */
  readonly protocolVersion: bigint;
  /** A serialized BasicAuth, from clients that send it here. */
  readonly payload: Uint8Array;
}

/** Writes and reads `HandshakeRequest`. */
export const HandshakeRequest = {
  encode(message: HandshakeRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.protocolVersion !== 0n) writer.uint32(8).uint64(longFromBigint(message.protocolVersion, true));
    if (message.payload.length > 0) writer.uint32(18).bytes(message.payload);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): HandshakeRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let protocolVersion = 0n;
    let payload: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          protocolVersion = bigintFromLong(reader.uint64());
          break;
        case 18:
          payload = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('HandshakeRequest ends inside a field.');
    return { protocolVersion, payload };
  },

  fromPartial(partial: Partially<HandshakeRequest>): HandshakeRequest {
    return {
      protocolVersion: partial.protocolVersion ?? 0n,
      payload: partial.payload ?? new Uint8Array(0),
    };
  },
};

/** A handshake message of the server. */
export interface HandshakeResponse {
  /** Always 0. */
  readonly protocolVersion: bigint;
  /** The token, for clients that look for it here. */
  readonly payload: Uint8Array;
}

/** Writes and reads `HandshakeResponse`. */
export const HandshakeResponse = {
  encode(message: HandshakeResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.protocolVersion !== 0n) writer.uint32(8).uint64(longFromBigint(message.protocolVersion, true));
    if (message.payload.length > 0) writer.uint32(18).bytes(message.payload);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): HandshakeResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let protocolVersion = 0n;
    let payload: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          protocolVersion = bigintFromLong(reader.uint64());
          break;
        case 18:
          payload = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('HandshakeResponse ends inside a field.');
    return { protocolVersion, payload };
  },

  fromPartial(partial: Partially<HandshakeResponse>): HandshakeResponse {
    return {
      protocolVersion: partial.protocolVersion ?? 0n,
      payload: partial.payload ?? new Uint8Array(0),
    };
  },
};

/** A name and a password. */
export interface BasicAuth {
  /** The name. */
  readonly username: string;
  /** The password. */
  readonly password: string;
}

/** Writes and reads `BasicAuth`. */
export const BasicAuth = {
  encode(message: BasicAuth, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.username !== '') writer.uint32(18).string(message.username);
    if (message.password !== '') writer.uint32(26).string(message.password);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): BasicAuth {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let username = '';
    let password = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 18:
          username = reader.string();
          break;
        case 26:
          password = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('BasicAuth ends inside a field.');
    return { username, password };
  },

  fromPartial(partial: Partially<BasicAuth>): BasicAuth {
    return {
      username: partial.username ?? '',
      password: partial.password ?? '',
    };
  },
};

/** Nothing. */
export interface Empty {
}

/** Writes and reads `Empty`. */
export const Empty = {
  encode(_message: Empty, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Empty {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    while (reader.pos < end) {
      const tag = reader.uint32();
      reader.skipType(tag & 7);
    }
    if (reader.pos !== end) throw new RangeError('Empty ends inside a field.');
    return {  };
  },

  fromPartial(_partial: Partially<Empty>): Empty {
    return {
    };
  },
};

/** An action of the server. */
export interface ActionType {
  /** Its name. */
  readonly type: string;
  /** What it does. */
  readonly description: string;
}

/** Writes and reads `ActionType`. */
export const ActionType = {
  encode(message: ActionType, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.type !== '') writer.uint32(10).string(message.type);
    if (message.description !== '') writer.uint32(18).string(message.description);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ActionType {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let type = '';
    let description = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          type = reader.string();
          break;
        case 18:
          description = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ActionType ends inside a field.');
    return { type, description };
  },

  fromPartial(partial: Partially<ActionType>): ActionType {
    return {
      type: partial.type ?? '',
      description: partial.description ?? '',
    };
  },
};

/** The flights to list. */
export interface Criteria {
  /** Only handles with this prefix; empty = all. */
  readonly expression: Uint8Array;
}

/** Writes and reads `Criteria`. */
export const Criteria = {
  encode(message: Criteria, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.expression.length > 0) writer.uint32(10).bytes(message.expression);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Criteria {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let expression: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          expression = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Criteria ends inside a field.');
    return { expression };
  },

  fromPartial(partial: Partially<Criteria>): Criteria {
    return {
      expression: partial.expression ?? new Uint8Array(0),
    };
  },
};

/** An action to run. */
export interface Action {
  /** Its name. */
  readonly type: string;
  /** The arguments of the action. */
  readonly body: Uint8Array;
}

/** Writes and reads `Action`. */
export const Action = {
  encode(message: Action, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.type !== '') writer.uint32(10).string(message.type);
    if (message.body.length > 0) writer.uint32(18).bytes(message.body);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Action {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let type = '';
    let body: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          type = reader.string();
          break;
        case 18:
          body = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Action ends inside a field.');
    return { type, body };
  },

  fromPartial(partial: Partially<Action>): Action {
    return {
      type: partial.type ?? '',
      body: partial.body ?? new Uint8Array(0),
    };
  },
};

/** The result of an action. */
export interface Result {
  /** A message that depends on the action. */
  readonly body: Uint8Array;
}

/** Writes and reads `Result`. */
export const Result = {
  encode(message: Result, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.body.length > 0) writer.uint32(10).bytes(message.body);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Result {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let body: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          body = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Result ends inside a field.');
    return { body };
  },

  fromPartial(partial: Partially<Result>): Result {
    return {
      body: partial.body ?? new Uint8Array(0),
    };
  },
};

/** A schema. */
export interface SchemaResult {
  /** An encapsulated Arrow IPC message. */
  readonly schema: Uint8Array;
}

/** Writes and reads `SchemaResult`. */
export const SchemaResult = {
  encode(message: SchemaResult, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.schema.length > 0) writer.uint32(10).bytes(message.schema);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): SchemaResult {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let schema: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          schema = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('SchemaResult ends inside a field.');
    return { schema };
  },

  fromPartial(partial: Partially<SchemaResult>): SchemaResult {
    return {
      schema: partial.schema ?? new Uint8Array(0),
    };
  },
};

/** The kinds of descriptors. */
export const FlightDescriptorDescriptorType = {
  /** Unknown. */
  UNKNOWN: 0,
  /** A path: the handle of a frame. */
  PATH: 1,
  /** A Flight SQL command. */
  CMD: 2,
} as const;
/** A number of `FlightDescriptorDescriptorType`, or one that a newer peer knows. */
export type FlightDescriptorDescriptorType = number;

/** Names something to read or to write. */
export interface FlightDescriptor {
  /** Which of the other two fields is set. */
  readonly type: FlightDescriptorDescriptorType;
  /** A serialized google.protobuf.Any. */
  readonly cmd: Uint8Array;
  /** One part. */
  readonly path: readonly string[];
}

/** Writes and reads `FlightDescriptor`. */
export const FlightDescriptor = {
  encode(message: FlightDescriptor, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.type !== 0) writer.uint32(8).int32(message.type);
    if (message.cmd.length > 0) writer.uint32(18).bytes(message.cmd);
    for (const item of message.path) writer.uint32(26).string(item);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): FlightDescriptor {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let type = 0;
    let cmd: Uint8Array = new Uint8Array(0);
    const path: string[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          type = reader.int32();
          break;
        case 18:
          cmd = reader.bytes();
          break;
        case 26:
          path.push(reader.string());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('FlightDescriptor ends inside a field.');
    return { type, cmd, path };
  },

  fromPartial(partial: Partially<FlightDescriptor>): FlightDescriptor {
    return {
      type: partial.type ?? 0,
      cmd: partial.cmd ?? new Uint8Array(0),
      path: partial.path ?? [],
    };
  },
};

/** The description of a descriptor, and how to read its data. */
export interface FlightInfo {
  /** The schema: an encapsulated Arrow IPC message. */
  readonly schema: Uint8Array;
  /** The descriptor of the request. */
  readonly flightDescriptor: FlightDescriptor | undefined;
  /** Always one. */
  readonly endpoint: readonly FlightEndpoint[];
  /** The number of rows; -1 = unknown. */
  readonly totalRecords: bigint;
  /** The size in storage, in bytes; -1 = unknown. */
  readonly totalBytes: bigint;
  /** Always true: the rows are ordered. */
  readonly ordered: boolean;
  /** The version of a frame; otherwise empty. */
  readonly appMetadata: Uint8Array;
}

/** Writes and reads `FlightInfo`. */
export const FlightInfo = {
  encode(message: FlightInfo, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.schema.length > 0) writer.uint32(10).bytes(message.schema);
    if (message.flightDescriptor !== undefined) FlightDescriptor.encode(message.flightDescriptor, writer.uint32(18).fork()).ldelim();
    for (const item of message.endpoint) FlightEndpoint.encode(item, writer.uint32(26).fork()).ldelim();
    if (message.totalRecords !== 0n) writer.uint32(32).int64(longFromBigint(message.totalRecords));
    if (message.totalBytes !== 0n) writer.uint32(40).int64(longFromBigint(message.totalBytes));
    if (message.ordered) writer.uint32(48).bool(message.ordered);
    if (message.appMetadata.length > 0) writer.uint32(58).bytes(message.appMetadata);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): FlightInfo {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let schema: Uint8Array = new Uint8Array(0);
    let flightDescriptor: FlightDescriptor | undefined;
    const endpoint: FlightEndpoint[] = [];
    let totalRecords = 0n;
    let totalBytes = 0n;
    let ordered = false;
    let appMetadata: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          schema = reader.bytes();
          break;
        case 18:
          flightDescriptor = FlightDescriptor.decode(reader, reader.uint32());
          break;
        case 26:
          endpoint.push(FlightEndpoint.decode(reader, reader.uint32()));
          break;
        case 32:
          totalRecords = bigintFromLong(reader.int64());
          break;
        case 40:
          totalBytes = bigintFromLong(reader.int64());
          break;
        case 48:
          ordered = reader.bool();
          break;
        case 58:
          appMetadata = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('FlightInfo ends inside a field.');
    return { schema, flightDescriptor, endpoint, totalRecords, totalBytes, ordered, appMetadata };
  },

  fromPartial(partial: Partially<FlightInfo>): FlightInfo {
    return {
      schema: partial.schema ?? new Uint8Array(0),
      flightDescriptor: partial.flightDescriptor === undefined ? undefined : FlightDescriptor.fromPartial(partial.flightDescriptor),
      endpoint: partial.endpoint?.map((item) => FlightEndpoint.fromPartial(item)) ?? [],
      totalRecords: partial.totalRecords ?? 0n,
      totalBytes: partial.totalBytes ?? 0n,
      ordered: partial.ordered ?? false,
      appMetadata: partial.appMetadata ?? new Uint8Array(0),
    };
  },
};

/** The progress of a query. */
export interface PollInfo {
  /** The data that can be read now: all of it. */
  readonly info: FlightInfo | undefined;
  /** Absent: there is nothing to poll for. */
  readonly flightDescriptor: FlightDescriptor | undefined;
  /** 1. */
  readonly progress: number | undefined;
  /** Absent. */
  readonly expirationTime: Timestamp | undefined;
}

/** Writes and reads `PollInfo`. */
export const PollInfo = {
  encode(message: PollInfo, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.info !== undefined) FlightInfo.encode(message.info, writer.uint32(10).fork()).ldelim();
    if (message.flightDescriptor !== undefined) FlightDescriptor.encode(message.flightDescriptor, writer.uint32(18).fork()).ldelim();
    if (message.progress !== undefined) writer.uint32(25).double(message.progress);
    if (message.expirationTime !== undefined) Timestamp.encode(message.expirationTime, writer.uint32(34).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): PollInfo {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let info: FlightInfo | undefined;
    let flightDescriptor: FlightDescriptor | undefined;
    let progress: number | undefined;
    let expirationTime: Timestamp | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          info = FlightInfo.decode(reader, reader.uint32());
          break;
        case 18:
          flightDescriptor = FlightDescriptor.decode(reader, reader.uint32());
          break;
        case 25:
          progress = reader.double();
          break;
        case 34:
          expirationTime = Timestamp.decode(reader, reader.uint32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('PollInfo ends inside a field.');
    return { info, flightDescriptor, progress, expirationTime };
  },

  fromPartial(partial: Partially<PollInfo>): PollInfo {
    return {
      info: partial.info === undefined ? undefined : FlightInfo.fromPartial(partial.info),
      flightDescriptor: partial.flightDescriptor === undefined ? undefined : FlightDescriptor.fromPartial(partial.flightDescriptor),
      progress: partial.progress,
      expirationTime: partial.expirationTime === undefined ? undefined : Timestamp.fromPartial(partial.expirationTime),
    };
  },
};

/** What to cancel. */
export interface CancelFlightInfoRequest {
  /** The response of GetFlightInfo. */
  readonly info: FlightInfo | undefined;
}

/** Writes and reads `CancelFlightInfoRequest`. */
export const CancelFlightInfoRequest = {
  encode(message: CancelFlightInfoRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.info !== undefined) FlightInfo.encode(message.info, writer.uint32(10).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CancelFlightInfoRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let info: FlightInfo | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          info = FlightInfo.decode(reader, reader.uint32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('CancelFlightInfoRequest ends inside a field.');
    return { info };
  },

  fromPartial(partial: Partially<CancelFlightInfoRequest>): CancelFlightInfoRequest {
    return {
      info: partial.info === undefined ? undefined : FlightInfo.fromPartial(partial.info),
    };
  },
};

/** The outcome of a cancellation. */
export const CancelStatus = {
  /** Unknown. */
  CANCEL_STATUS_UNSPECIFIED: 0,
  /** It was running and was cancelled. */
  CANCEL_STATUS_CANCELLED: 1,
  /** It is being cancelled. */
  CANCEL_STATUS_CANCELLING: 2,
  /** It was not running. */
  CANCEL_STATUS_NOT_CANCELLABLE: 3,
} as const;
/** A number of `CancelStatus`, or one that a newer peer knows. */
export type CancelStatus = number;

/** The result of a cancellation. */
export interface CancelFlightInfoResult {
  /** The outcome. */
  readonly status: CancelStatus;
}

/** Writes and reads `CancelFlightInfoResult`. */
export const CancelFlightInfoResult = {
  encode(message: CancelFlightInfoResult, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.status !== 0) writer.uint32(8).int32(message.status);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CancelFlightInfoResult {
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
    if (reader.pos !== end) throw new RangeError('CancelFlightInfoResult ends inside a field.');
    return { status };
  },

  fromPartial(partial: Partially<CancelFlightInfoResult>): CancelFlightInfoResult {
    return {
      status: partial.status ?? 0,
    };
  },
};

/** A ticket for DoGet. Only the tenant that it was issued to can use it, for a limited time. */
export interface Ticket {
  /** Opaque. */
  readonly ticket: Uint8Array;
}

/** Writes and reads `Ticket`. */
export const Ticket = {
  encode(message: Ticket, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.ticket.length > 0) writer.uint32(10).bytes(message.ticket);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Ticket {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let ticket: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          ticket = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Ticket ends inside a field.');
    return { ticket };
  },

  fromPartial(partial: Partially<Ticket>): Ticket {
    return {
      ticket: partial.ticket ?? new Uint8Array(0),
    };
  },
};

/** An address to read from. */
export interface Location {
  /** An address. */
  readonly uri: string;
}

/** Writes and reads `Location`. */
export const Location = {
  encode(message: Location, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.uri !== '') writer.uint32(10).string(message.uri);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): Location {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let uri = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          uri = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('Location ends inside a field.');
    return { uri };
  },

  fromPartial(partial: Partially<Location>): Location {
    return {
      uri: partial.uri ?? '',
    };
  },
};

/** A part of a flight; this server always returns one. */
export interface FlightEndpoint {
  /** The ticket to read it with. */
  readonly ticket: Ticket | undefined;
  /** Empty: read from the server that issued the ticket. */
  readonly location: readonly Location[];
  /** When the ticket expires. */
  readonly expirationTime: Timestamp | undefined;
  /** Empty. */
  readonly appMetadata: Uint8Array;
}

/** Writes and reads `FlightEndpoint`. */
export const FlightEndpoint = {
  encode(message: FlightEndpoint, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.ticket !== undefined) Ticket.encode(message.ticket, writer.uint32(10).fork()).ldelim();
    for (const item of message.location) Location.encode(item, writer.uint32(18).fork()).ldelim();
    if (message.expirationTime !== undefined) Timestamp.encode(message.expirationTime, writer.uint32(26).fork()).ldelim();
    if (message.appMetadata.length > 0) writer.uint32(34).bytes(message.appMetadata);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): FlightEndpoint {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let ticket: Ticket | undefined;
    const location: Location[] = [];
    let expirationTime: Timestamp | undefined;
    let appMetadata: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          ticket = Ticket.decode(reader, reader.uint32());
          break;
        case 18:
          location.push(Location.decode(reader, reader.uint32()));
          break;
        case 26:
          expirationTime = Timestamp.decode(reader, reader.uint32());
          break;
        case 34:
          appMetadata = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('FlightEndpoint ends inside a field.');
    return { ticket, location, expirationTime, appMetadata };
  },

  fromPartial(partial: Partially<FlightEndpoint>): FlightEndpoint {
    return {
      ticket: partial.ticket === undefined ? undefined : Ticket.fromPartial(partial.ticket),
      location: partial.location?.map((item) => Location.fromPartial(item)) ?? [],
      expirationTime: partial.expirationTime === undefined ? undefined : Timestamp.fromPartial(partial.expirationTime),
      appMetadata: partial.appMetadata ?? new Uint8Array(0),
    };
  },
};

/** The ticket to renew. */
export interface RenewFlightEndpointRequest {
  /** The endpoint with the ticket. */
  readonly endpoint: FlightEndpoint | undefined;
}

/** Writes and reads `RenewFlightEndpointRequest`. */
export const RenewFlightEndpointRequest = {
  encode(message: RenewFlightEndpointRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.endpoint !== undefined) FlightEndpoint.encode(message.endpoint, writer.uint32(10).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): RenewFlightEndpointRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let endpoint: FlightEndpoint | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          endpoint = FlightEndpoint.decode(reader, reader.uint32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('RenewFlightEndpointRequest ends inside a field.');
    return { endpoint };
  },

  fromPartial(partial: Partially<RenewFlightEndpointRequest>): RenewFlightEndpointRequest {
    return {
      endpoint: partial.endpoint === undefined ? undefined : FlightEndpoint.fromPartial(partial.endpoint),
    };
  },
};

/** An Arrow IPC message. */
export interface FlightData {
  /** The target; only in the first message of an upload. */
  readonly flightDescriptor: FlightDescriptor | undefined;
  /** The metadata of the message, not encapsulated. */
  readonly dataHeader: Uint8Array;
  /** Ignored. */
  readonly appMetadata: Uint8Array;
  /** The body of the message. */
  readonly dataBody: Uint8Array;
}

/** Writes and reads `FlightData`. */
export const FlightData = {
  encode(message: FlightData, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.flightDescriptor !== undefined) FlightDescriptor.encode(message.flightDescriptor, writer.uint32(10).fork()).ldelim();
    if (message.dataHeader.length > 0) writer.uint32(18).bytes(message.dataHeader);
    if (message.appMetadata.length > 0) writer.uint32(26).bytes(message.appMetadata);
    if (message.dataBody.length > 0) writer.uint32(8002).bytes(message.dataBody);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): FlightData {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let flightDescriptor: FlightDescriptor | undefined;
    let dataHeader: Uint8Array = new Uint8Array(0);
    let appMetadata: Uint8Array = new Uint8Array(0);
    let dataBody: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          flightDescriptor = FlightDescriptor.decode(reader, reader.uint32());
          break;
        case 18:
          dataHeader = reader.bytes();
          break;
        case 26:
          appMetadata = reader.bytes();
          break;
        case 8002:
          dataBody = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('FlightData ends inside a field.');
    return { flightDescriptor, dataHeader, appMetadata, dataBody };
  },

  fromPartial(partial: Partially<FlightData>): FlightData {
    return {
      flightDescriptor: partial.flightDescriptor === undefined ? undefined : FlightDescriptor.fromPartial(partial.flightDescriptor),
      dataHeader: partial.dataHeader ?? new Uint8Array(0),
      appMetadata: partial.appMetadata ?? new Uint8Array(0),
      dataBody: partial.dataBody ?? new Uint8Array(0),
    };
  },
};

/** The result of an upload. */
export interface PutResult {
  /** A Flight SQL message, or empty. */
  readonly appMetadata: Uint8Array;
}

/** Writes and reads `PutResult`. */
export const PutResult = {
  encode(message: PutResult, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.appMetadata.length > 0) writer.uint32(10).bytes(message.appMetadata);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): PutResult {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let appMetadata: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          appMetadata = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('PutResult ends inside a field.');
    return { appMetadata };
  },

  fromPartial(partial: Partially<PutResult>): PutResult {
    return {
      appMetadata: partial.appMetadata ?? new Uint8Array(0),
    };
  },
};

/** Texts. */
export interface SessionOptionValueStringListValue {
  /** The texts. */
  readonly values: readonly string[];
}

/** Writes and reads `SessionOptionValueStringListValue`. */
export const SessionOptionValueStringListValue = {
  encode(message: SessionOptionValueStringListValue, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    for (const item of message.values) writer.uint32(10).string(item);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): SessionOptionValueStringListValue {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    const values: string[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          values.push(reader.string());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('SessionOptionValueStringListValue ends inside a field.');
    return { values };
  },

  fromPartial(partial: Partially<SessionOptionValueStringListValue>): SessionOptionValueStringListValue {
    return {
      values: partial.values ?? [],
    };
  },
};

/** The value of a session option. */
export interface SessionOptionValue {
  /** A text. */
  readonly stringValue: string | undefined;
  /** A boolean. */
  readonly boolValue: boolean | undefined;
  /** An integer. */
  readonly int64Value: bigint | undefined;
  /** A floating-point number. */
  readonly doubleValue: number | undefined;
  /** Texts. */
  readonly stringListValue: SessionOptionValueStringListValue | undefined;
}

/** Writes and reads `SessionOptionValue`. */
export const SessionOptionValue = {
  encode(message: SessionOptionValue, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.stringValue !== undefined) writer.uint32(10).string(message.stringValue);
    if (message.boolValue !== undefined) writer.uint32(16).bool(message.boolValue);
    if (message.int64Value !== undefined) writer.uint32(25).sfixed64(longFromBigint(message.int64Value));
    if (message.doubleValue !== undefined) writer.uint32(33).double(message.doubleValue);
    if (message.stringListValue !== undefined) SessionOptionValueStringListValue.encode(message.stringListValue, writer.uint32(42).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): SessionOptionValue {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let stringValue: string | undefined;
    let boolValue: boolean | undefined;
    let int64Value: bigint | undefined;
    let doubleValue: number | undefined;
    let stringListValue: SessionOptionValueStringListValue | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          stringValue = reader.string();
          boolValue = undefined;
          int64Value = undefined;
          doubleValue = undefined;
          stringListValue = undefined;
          break;
        case 16:
          boolValue = reader.bool();
          stringValue = undefined;
          int64Value = undefined;
          doubleValue = undefined;
          stringListValue = undefined;
          break;
        case 25:
          int64Value = bigintFromLong(reader.sfixed64());
          stringValue = undefined;
          boolValue = undefined;
          doubleValue = undefined;
          stringListValue = undefined;
          break;
        case 33:
          doubleValue = reader.double();
          stringValue = undefined;
          boolValue = undefined;
          int64Value = undefined;
          stringListValue = undefined;
          break;
        case 42:
          stringListValue = SessionOptionValueStringListValue.decode(reader, reader.uint32());
          stringValue = undefined;
          boolValue = undefined;
          int64Value = undefined;
          doubleValue = undefined;
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('SessionOptionValue ends inside a field.');
    return { stringValue, boolValue, int64Value, doubleValue, stringListValue };
  },

  fromPartial(partial: Partially<SessionOptionValue>): SessionOptionValue {
    return {
      stringValue: partial.stringValue,
      boolValue: partial.boolValue,
      int64Value: partial.int64Value,
      doubleValue: partial.doubleValue,
      stringListValue: partial.stringListValue === undefined ? undefined : SessionOptionValueStringListValue.fromPartial(partial.stringListValue),
    };
  },
};

/** Session options to set. */
export interface SetSessionOptionsRequest {
  /** By name. */
  readonly sessionOptions: ReadonlyMap<string, SessionOptionValue>;
}

/** Writes and reads `SetSessionOptionsRequest`. */
export const SetSessionOptionsRequest = {
  encode(message: SetSessionOptionsRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    for (const [key, value] of message.sessionOptions) {
      writer.uint32(10).fork().uint32(10).string(key);
      SessionOptionValue.encode(value, writer.uint32(18).fork()).ldelim();
      writer.ldelim();
    }
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): SetSessionOptionsRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    const sessionOptions = new Map<string, SessionOptionValue>();
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10: {
          const stop = reader.uint32() + reader.pos;
          let key = '';
          let value: SessionOptionValue = SessionOptionValue.fromPartial({});
          while (reader.pos < stop) {
            const part = reader.uint32();
            if (part === 10) key = reader.string();
            else if (part === 18) value = SessionOptionValue.decode(reader, reader.uint32());
            else reader.skipType(part & 7);
          }
          sessionOptions.set(key, value);
          break;
        }
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('SetSessionOptionsRequest ends inside a field.');
    return { sessionOptions };
  },

  fromPartial(partial: Partially<SetSessionOptionsRequest>): SetSessionOptionsRequest {
    return {
      sessionOptions: partial.sessionOptions ?? new Map(),
    };
  },
};

/** Why an option was not set. */
export const SetSessionOptionsResultErrorValue = {
  /** Unknown. */
  UNSPECIFIED: 0,
  /** There is no such option. */
  INVALID_NAME: 1,
  /** The value is not allowed. */
  INVALID_VALUE: 2,
  /** Another reason. */
  ERROR: 3,
} as const;
/** A number of `SetSessionOptionsResultErrorValue`, or one that a newer peer knows. */
export type SetSessionOptionsResultErrorValue = number;

/** An option that was not set. */
export interface SetSessionOptionsResultError {
  /** Why. */
  readonly value: SetSessionOptionsResultErrorValue;
}

/** Writes and reads `SetSessionOptionsResultError`. */
export const SetSessionOptionsResultError = {
  encode(message: SetSessionOptionsResultError, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.value !== 0) writer.uint32(8).int32(message.value);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): SetSessionOptionsResultError {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let value = 0;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          value = reader.int32();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('SetSessionOptionsResultError ends inside a field.');
    return { value };
  },

  fromPartial(partial: Partially<SetSessionOptionsResultError>): SetSessionOptionsResultError {
    return {
      value: partial.value ?? 0,
    };
  },
};

/** The session options that were not set. */
export interface SetSessionOptionsResult {
  /** By name; empty = all were set. */
  readonly errors: ReadonlyMap<string, SetSessionOptionsResultError>;
}

/** Writes and reads `SetSessionOptionsResult`. */
export const SetSessionOptionsResult = {
  encode(message: SetSessionOptionsResult, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    for (const [key, value] of message.errors) {
      writer.uint32(10).fork().uint32(10).string(key);
      SetSessionOptionsResultError.encode(value, writer.uint32(18).fork()).ldelim();
      writer.ldelim();
    }
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): SetSessionOptionsResult {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    const errors = new Map<string, SetSessionOptionsResultError>();
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10: {
          const stop = reader.uint32() + reader.pos;
          let key = '';
          let value: SetSessionOptionsResultError = SetSessionOptionsResultError.fromPartial({});
          while (reader.pos < stop) {
            const part = reader.uint32();
            if (part === 10) key = reader.string();
            else if (part === 18) value = SetSessionOptionsResultError.decode(reader, reader.uint32());
            else reader.skipType(part & 7);
          }
          errors.set(key, value);
          break;
        }
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('SetSessionOptionsResult ends inside a field.');
    return { errors };
  },

  fromPartial(partial: Partially<SetSessionOptionsResult>): SetSessionOptionsResult {
    return {
      errors: partial.errors ?? new Map(),
    };
  },
};

/** Asks for the session options. */
export interface GetSessionOptionsRequest {
}

/** Writes and reads `GetSessionOptionsRequest`. */
export const GetSessionOptionsRequest = {
  encode(_message: GetSessionOptionsRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): GetSessionOptionsRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    while (reader.pos < end) {
      const tag = reader.uint32();
      reader.skipType(tag & 7);
    }
    if (reader.pos !== end) throw new RangeError('GetSessionOptionsRequest ends inside a field.');
    return {  };
  },

  fromPartial(_partial: Partially<GetSessionOptionsRequest>): GetSessionOptionsRequest {
    return {
    };
  },
};

/** The session options. */
export interface GetSessionOptionsResult {
  /** By name. */
  readonly sessionOptions: ReadonlyMap<string, SessionOptionValue>;
}

/** Writes and reads `GetSessionOptionsResult`. */
export const GetSessionOptionsResult = {
  encode(message: GetSessionOptionsResult, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    for (const [key, value] of message.sessionOptions) {
      writer.uint32(10).fork().uint32(10).string(key);
      SessionOptionValue.encode(value, writer.uint32(18).fork()).ldelim();
      writer.ldelim();
    }
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): GetSessionOptionsResult {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    const sessionOptions = new Map<string, SessionOptionValue>();
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10: {
          const stop = reader.uint32() + reader.pos;
          let key = '';
          let value: SessionOptionValue = SessionOptionValue.fromPartial({});
          while (reader.pos < stop) {
            const part = reader.uint32();
            if (part === 10) key = reader.string();
            else if (part === 18) value = SessionOptionValue.decode(reader, reader.uint32());
            else reader.skipType(part & 7);
          }
          sessionOptions.set(key, value);
          break;
        }
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('GetSessionOptionsResult ends inside a field.');
    return { sessionOptions };
  },

  fromPartial(partial: Partially<GetSessionOptionsResult>): GetSessionOptionsResult {
    return {
      sessionOptions: partial.sessionOptions ?? new Map(),
    };
  },
};

/** Closes the session. */
export interface CloseSessionRequest {
}

/** Writes and reads `CloseSessionRequest`. */
export const CloseSessionRequest = {
  encode(_message: CloseSessionRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CloseSessionRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    while (reader.pos < end) {
      const tag = reader.uint32();
      reader.skipType(tag & 7);
    }
    if (reader.pos !== end) throw new RangeError('CloseSessionRequest ends inside a field.');
    return {  };
  },

  fromPartial(_partial: Partially<CloseSessionRequest>): CloseSessionRequest {
    return {
    };
  },
};

/** The outcomes. */
export const CloseSessionResultStatus = {
  /** Unknown. */
  UNSPECIFIED: 0,
  /** The session is closed. */
  CLOSED: 1,
  /** The session is being closed. */
  CLOSING: 2,
  /** The session cannot be closed. */
  NOT_CLOSEABLE: 3,
} as const;
/** A number of `CloseSessionResultStatus`, or one that a newer peer knows. */
export type CloseSessionResultStatus = number;

/** The result of closing the session. */
export interface CloseSessionResult {
  /** The outcome. */
  readonly status: CloseSessionResultStatus;
}

/** Writes and reads `CloseSessionResult`. */
export const CloseSessionResult = {
  encode(message: CloseSessionResult, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.status !== 0) writer.uint32(8).int32(message.status);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): CloseSessionResult {
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
    if (reader.pos !== end) throw new RangeError('CloseSessionResult ends inside a field.');
    return { status };
  },

  fromPartial(partial: Partially<CloseSessionResult>): CloseSessionResult {
    return {
      status: partial.status ?? 0,
    };
  },
};

/**
 * Transfers frames as record batches. A descriptor with a path of one part names the frame with that handle; one with a
 * command is a Flight SQL command.
 */
export const FlightServiceDefinition = {
  name: 'FlightService',
  fullName: 'arrow.flight.protocol.FlightService',
  methods: {
    /** Exchanges a name and password (the metadata `authorization: Basic …`) for a token (`authorization: Bearer …`). */
    handshake: {
      name: 'Handshake',
      requestType: HandshakeRequest,
      requestStream: true,
      responseType: HandshakeResponse,
      responseStream: true,
      options: {},
    },
    /** Lists the caller's frames, sorted by handle. */
    listFlights: {
      name: 'ListFlights',
      requestType: Criteria,
      requestStream: false,
      responseType: FlightInfo,
      responseStream: true,
      options: {},
    },
    /** Describes a descriptor, and returns a ticket to read it. */
    getFlightInfo: {
      name: 'GetFlightInfo',
      requestType: FlightDescriptor,
      requestStream: false,
      responseType: FlightInfo,
      responseStream: false,
      options: {},
    },
    /** The same, for clients that poll until the data is ready, which it always is. */
    pollFlightInfo: {
      name: 'PollFlightInfo',
      requestType: FlightDescriptor,
      requestStream: false,
      responseType: PollInfo,
      responseStream: false,
      options: {},
    },
    /** Returns the schema of a descriptor. */
    getSchema: {
      name: 'GetSchema',
      requestType: FlightDescriptor,
      requestStream: false,
      responseType: SchemaResult,
      responseStream: false,
      options: {},
    },
    /** Reads the data of a ticket. */
    doGet: {
      name: 'DoGet',
      requestType: Ticket,
      requestStream: false,
      responseType: FlightData,
      responseStream: true,
      options: {},
    },
    /**
     * Puts a frame, or runs a Flight SQL command that takes data. Atomic: nothing changes before the client has half-closed
     * its stream, and a client that cancels or disconnects changes nothing.
     */
    doPut: {
      name: 'DoPut',
      requestType: FlightData,
      requestStream: true,
      responseType: PutResult,
      responseStream: true,
      options: {},
    },
    /** Not supported. */
    doExchange: {
      name: 'DoExchange',
      requestType: FlightData,
      requestStream: true,
      responseType: FlightData,
      responseStream: true,
      options: {},
    },
    /** Runs one of the actions that ListActions lists. */
    doAction: {
      name: 'DoAction',
      requestType: Action,
      requestStream: false,
      responseType: Result,
      responseStream: true,
      options: {},
    },
    /** Lists the actions. */
    listActions: {
      name: 'ListActions',
      requestType: Empty,
      requestStream: false,
      responseType: ActionType,
      responseStream: true,
      options: {},
    },
  },
} as const;
