// Written by the script "generate" from svc/frames/v1/frames.proto: make changes there.
import protobuf from 'protobufjs/minimal.js';
import { bigintFromLong, longFromBigint, type Partially } from '../codec.ts';
import { Timestamp } from './google-protobuf-timestamp.ts';

/** The metadata of a frame. */
export interface FrameInfo {
  /** The name of the frame. */
  readonly handle: string;
  /** The number of rows; -1 in a list = the server has not read the file yet, DescribeFrame reads it. */
  readonly rows: bigint;
  /** The size of the frame in storage, in bytes. */
  readonly bytes: bigint;
  /** The columns, in order; none if rows = -1. */
  readonly columns: readonly ColumnInfo[];
  /** When this version was put. */
  readonly created: Timestamp | undefined;
  /** Changes with every put; a later version of a handle sorts after an earlier one. */
  readonly version: string;
  /** When the frame expires; absent = never. */
  readonly expires: Timestamp | undefined;
  /** Where the frame is stored, such as `memory`. */
  readonly tier: string;
}

/** Writes and reads `FrameInfo`. */
export const FrameInfo = {
  encode(message: FrameInfo, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.handle !== '') writer.uint32(10).string(message.handle);
    if (message.rows !== 0n) writer.uint32(16).int64(longFromBigint(message.rows));
    if (message.bytes !== 0n) writer.uint32(24).int64(longFromBigint(message.bytes));
    for (const item of message.columns) ColumnInfo.encode(item, writer.uint32(34).fork()).ldelim();
    if (message.created !== undefined) Timestamp.encode(message.created, writer.uint32(42).fork()).ldelim();
    if (message.version !== '') writer.uint32(50).string(message.version);
    if (message.expires !== undefined) Timestamp.encode(message.expires, writer.uint32(58).fork()).ldelim();
    if (message.tier !== '') writer.uint32(66).string(message.tier);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): FrameInfo {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let handle = '';
    let rows = 0n;
    let bytes = 0n;
    const columns: ColumnInfo[] = [];
    let created: Timestamp | undefined;
    let version = '';
    let expires: Timestamp | undefined;
    let tier = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          handle = reader.string();
          break;
        case 16:
          rows = bigintFromLong(reader.int64());
          break;
        case 24:
          bytes = bigintFromLong(reader.int64());
          break;
        case 34:
          columns.push(ColumnInfo.decode(reader, reader.uint32()));
          break;
        case 42:
          created = Timestamp.decode(reader, reader.uint32());
          break;
        case 50:
          version = reader.string();
          break;
        case 58:
          expires = Timestamp.decode(reader, reader.uint32());
          break;
        case 66:
          tier = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('FrameInfo ends inside a field.');
    return { handle, rows, bytes, columns, created, version, expires, tier };
  },

  fromPartial(partial: Partially<FrameInfo>): FrameInfo {
    return {
      handle: partial.handle ?? '',
      rows: partial.rows ?? 0n,
      bytes: partial.bytes ?? 0n,
      columns: partial.columns?.map((item) => ColumnInfo.fromPartial(item)) ?? [],
      created: partial.created === undefined ? undefined : Timestamp.fromPartial(partial.created),
      version: partial.version ?? '',
      expires: partial.expires === undefined ? undefined : Timestamp.fromPartial(partial.expires),
      tier: partial.tier ?? '',
    };
  },
};

/** A column of a frame. */
export interface ColumnInfo {
  /** The name of the column. */
  readonly name: string;
  /** The name of its type, such as `LONG`, `DOUBLE`, `STRING` or `TIMESTAMP`. */
  readonly type: string;
  /** Whether the column may contain nulls. */
  readonly nullable: boolean;
}

/** Writes and reads `ColumnInfo`. */
export const ColumnInfo = {
  encode(message: ColumnInfo, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.name !== '') writer.uint32(10).string(message.name);
    if (message.type !== '') writer.uint32(18).string(message.type);
    if (message.nullable) writer.uint32(24).bool(message.nullable);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ColumnInfo {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let name = '';
    let type = '';
    let nullable = false;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          name = reader.string();
          break;
        case 18:
          type = reader.string();
          break;
        case 24:
          nullable = reader.bool();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ColumnInfo ends inside a field.');
    return { name, type, nullable };
  },

  fromPartial(partial: Partially<ColumnInfo>): ColumnInfo {
    return {
      name: partial.name ?? '',
      type: partial.type ?? '',
      nullable: partial.nullable ?? false,
    };
  },
};

/** A message of an upload: the target comes first, then the data. */
export interface PutFrameRequest {
  /** The target of the upload. Only in the first message. */
  readonly target: PutFrameTarget | undefined;
  /**
   * The next bytes of the data, split anywhere: an Arrow IPC stream with its end-of-stream marker, or a file. Data
   * without its end is refused, because the client may have cancelled the upload.
   */
  readonly chunk: Uint8Array | undefined;
}

/** Writes and reads `PutFrameRequest`. */
export const PutFrameRequest = {
  encode(message: PutFrameRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.target !== undefined) PutFrameTarget.encode(message.target, writer.uint32(10).fork()).ldelim();
    if (message.chunk !== undefined) writer.uint32(18).bytes(message.chunk);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): PutFrameRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let target: PutFrameTarget | undefined;
    let chunk: Uint8Array | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          target = PutFrameTarget.decode(reader, reader.uint32());
          chunk = undefined;
          break;
        case 18:
          chunk = reader.bytes();
          target = undefined;
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('PutFrameRequest ends inside a field.');
    return { target, chunk };
  },

  fromPartial(partial: Partially<PutFrameRequest>): PutFrameRequest {
    return {
      target: partial.target === undefined ? undefined : PutFrameTarget.fromPartial(partial.target),
      chunk: partial.chunk,
    };
  },
};

/** The handle and the conditions of an upload. */
export interface PutFrameTarget {
  /** The handle of the frame. */
  readonly handle: string;
  /** Put only if the handle is free, else ALREADY_EXISTS. */
  readonly ifAbsent: boolean;
  /** Replace only this version, else ABORTED; empty = any version. */
  readonly ifVersion: string;
  /** Seconds until the frame expires, 1 to 3153600000 (100 years); absent = it never expires. */
  readonly ttlSeconds: bigint | undefined;
}

/** Writes and reads `PutFrameTarget`. */
export const PutFrameTarget = {
  encode(message: PutFrameTarget, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.handle !== '') writer.uint32(10).string(message.handle);
    if (message.ifAbsent) writer.uint32(16).bool(message.ifAbsent);
    if (message.ifVersion !== '') writer.uint32(26).string(message.ifVersion);
    if (message.ttlSeconds !== undefined) writer.uint32(32).int64(longFromBigint(message.ttlSeconds));
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): PutFrameTarget {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let handle = '';
    let ifAbsent = false;
    let ifVersion = '';
    let ttlSeconds: bigint | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          handle = reader.string();
          break;
        case 16:
          ifAbsent = reader.bool();
          break;
        case 26:
          ifVersion = reader.string();
          break;
        case 32:
          ttlSeconds = bigintFromLong(reader.int64());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('PutFrameTarget ends inside a field.');
    return { handle, ifAbsent, ifVersion, ttlSeconds };
  },

  fromPartial(partial: Partially<PutFrameTarget>): PutFrameTarget {
    return {
      handle: partial.handle ?? '',
      ifAbsent: partial.ifAbsent ?? false,
      ifVersion: partial.ifVersion ?? '',
      ttlSeconds: partial.ttlSeconds,
    };
  },
};

/** The result of a put. */
export interface PutFrameResponse {
  /** The frame as it is now. */
  readonly frame: FrameInfo | undefined;
  /** Whether the handle was free before. */
  readonly created: boolean;
}

/** Writes and reads `PutFrameResponse`. */
export const PutFrameResponse = {
  encode(message: PutFrameResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.frame !== undefined) FrameInfo.encode(message.frame, writer.uint32(10).fork()).ldelim();
    if (message.created) writer.uint32(16).bool(message.created);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): PutFrameResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let frame: FrameInfo | undefined;
    let created = false;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          frame = FrameInfo.decode(reader, reader.uint32());
          break;
        case 16:
          created = reader.bool();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('PutFrameResponse ends inside a field.');
    return { frame, created };
  },

  fromPartial(partial: Partially<PutFrameResponse>): PutFrameResponse {
    return {
      frame: partial.frame === undefined ? undefined : FrameInfo.fromPartial(partial.frame),
      created: partial.created ?? false,
    };
  },
};

/** The frame, and the part of it, to read. */
export interface GetFrameRequest {
  /** The handle of the frame. */
  readonly handle: string;
  /** The most rows to return; absent = all. */
  readonly limit: bigint | undefined;
  /** Rows to skip. */
  readonly offset: bigint;
  /** Columns to return, in this order; empty = all. */
  readonly columns: readonly string[];
}

/** Writes and reads `GetFrameRequest`. */
export const GetFrameRequest = {
  encode(message: GetFrameRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.handle !== '') writer.uint32(10).string(message.handle);
    if (message.limit !== undefined) writer.uint32(16).int64(longFromBigint(message.limit));
    if (message.offset !== 0n) writer.uint32(24).int64(longFromBigint(message.offset));
    for (const item of message.columns) writer.uint32(34).string(item);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): GetFrameRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let handle = '';
    let limit: bigint | undefined;
    let offset = 0n;
    const columns: string[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          handle = reader.string();
          break;
        case 16:
          limit = bigintFromLong(reader.int64());
          break;
        case 24:
          offset = bigintFromLong(reader.int64());
          break;
        case 34:
          columns.push(reader.string());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('GetFrameRequest ends inside a field.');
    return { handle, limit, offset, columns };
  },

  fromPartial(partial: Partially<GetFrameRequest>): GetFrameRequest {
    return {
      handle: partial.handle ?? '',
      limit: partial.limit,
      offset: partial.offset ?? 0n,
      columns: partial.columns ?? [],
    };
  },
};

/** A message of a read: the metadata comes first, then the data. */
export interface GetFrameResponse {
  /** The metadata of the whole frame. Only in the first message. */
  readonly frame: FrameInfo | undefined;
  /** The next bytes of an Arrow IPC stream, split anywhere. */
  readonly chunk: Uint8Array | undefined;
}

/** Writes and reads `GetFrameResponse`. */
export const GetFrameResponse = {
  encode(message: GetFrameResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.frame !== undefined) FrameInfo.encode(message.frame, writer.uint32(10).fork()).ldelim();
    if (message.chunk !== undefined) writer.uint32(18).bytes(message.chunk);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): GetFrameResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let frame: FrameInfo | undefined;
    let chunk: Uint8Array | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          frame = FrameInfo.decode(reader, reader.uint32());
          chunk = undefined;
          break;
        case 18:
          chunk = reader.bytes();
          frame = undefined;
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('GetFrameResponse ends inside a field.');
    return { frame, chunk };
  },

  fromPartial(partial: Partially<GetFrameResponse>): GetFrameResponse {
    return {
      frame: partial.frame === undefined ? undefined : FrameInfo.fromPartial(partial.frame),
      chunk: partial.chunk,
    };
  },
};

/** The frames to list. */
export interface ListFramesRequest {
  /** Only handles with this prefix. */
  readonly prefix: string;
  /** Only handles that sort after this one: the last of the previous page. */
  readonly after: string;
  /** The most frames to return; absent = all. */
  readonly limit: bigint | undefined;
}

/** Writes and reads `ListFramesRequest`. */
export const ListFramesRequest = {
  encode(message: ListFramesRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.prefix !== '') writer.uint32(10).string(message.prefix);
    if (message.after !== '') writer.uint32(18).string(message.after);
    if (message.limit !== undefined) writer.uint32(24).int64(longFromBigint(message.limit));
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ListFramesRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let prefix = '';
    let after = '';
    let limit: bigint | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          prefix = reader.string();
          break;
        case 18:
          after = reader.string();
          break;
        case 24:
          limit = bigintFromLong(reader.int64());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ListFramesRequest ends inside a field.');
    return { prefix, after, limit };
  },

  fromPartial(partial: Partially<ListFramesRequest>): ListFramesRequest {
    return {
      prefix: partial.prefix ?? '',
      after: partial.after ?? '',
      limit: partial.limit,
    };
  },
};

/** The requested frames. */
export interface ListFramesResponse {
  /** Sorted by handle. */
  readonly frames: readonly FrameInfo[];
}

/** Writes and reads `ListFramesResponse`. */
export const ListFramesResponse = {
  encode(message: ListFramesResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    for (const item of message.frames) FrameInfo.encode(item, writer.uint32(10).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ListFramesResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    const frames: FrameInfo[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          frames.push(FrameInfo.decode(reader, reader.uint32()));
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ListFramesResponse ends inside a field.');
    return { frames };
  },

  fromPartial(partial: Partially<ListFramesResponse>): ListFramesResponse {
    return {
      frames: partial.frames?.map((item) => FrameInfo.fromPartial(item)) ?? [],
    };
  },
};

/** The frame to describe. */
export interface DescribeFrameRequest {
  /** The handle of the frame. */
  readonly handle: string;
}

/** Writes and reads `DescribeFrameRequest`. */
export const DescribeFrameRequest = {
  encode(message: DescribeFrameRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.handle !== '') writer.uint32(10).string(message.handle);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): DescribeFrameRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let handle = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          handle = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('DescribeFrameRequest ends inside a field.');
    return { handle };
  },

  fromPartial(partial: Partially<DescribeFrameRequest>): DescribeFrameRequest {
    return {
      handle: partial.handle ?? '',
    };
  },
};

/** The requested frame. */
export interface DescribeFrameResponse {
  /** The frame. */
  readonly frame: FrameInfo | undefined;
}

/** Writes and reads `DescribeFrameResponse`. */
export const DescribeFrameResponse = {
  encode(message: DescribeFrameResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.frame !== undefined) FrameInfo.encode(message.frame, writer.uint32(10).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): DescribeFrameResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let frame: FrameInfo | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          frame = FrameInfo.decode(reader, reader.uint32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('DescribeFrameResponse ends inside a field.');
    return { frame };
  },

  fromPartial(partial: Partially<DescribeFrameResponse>): DescribeFrameResponse {
    return {
      frame: partial.frame === undefined ? undefined : FrameInfo.fromPartial(partial.frame),
    };
  },
};

/** The frame to drop. */
export interface DropFrameRequest {
  /** The handle of the frame. */
  readonly handle: string;
}

/** Writes and reads `DropFrameRequest`. */
export const DropFrameRequest = {
  encode(message: DropFrameRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.handle !== '') writer.uint32(10).string(message.handle);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): DropFrameRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let handle = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          handle = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('DropFrameRequest ends inside a field.');
    return { handle };
  },

  fromPartial(partial: Partially<DropFrameRequest>): DropFrameRequest {
    return {
      handle: partial.handle ?? '',
    };
  },
};

/** The frame was dropped. */
export interface DropFrameResponse {
}

/** Writes and reads `DropFrameResponse`. */
export const DropFrameResponse = {
  encode(_message: DropFrameResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): DropFrameResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    while (reader.pos < end) {
      const tag = reader.uint32();
      reader.skipType(tag & 7);
    }
    if (reader.pos !== end) throw new RangeError('DropFrameResponse ends inside a field.');
    return {  };
  },

  fromPartial(_partial: Partially<DropFrameResponse>): DropFrameResponse {
    return {
    };
  },
};

/** The frame and its new TTL. */
export interface ExtendFrameRequest {
  /** The handle of the frame. */
  readonly handle: string;
  /** Seconds from now until the frame expires, 1 to 3153600000 (100 years); absent = it never expires. */
  readonly ttlSeconds: bigint | undefined;
}

/** Writes and reads `ExtendFrameRequest`. */
export const ExtendFrameRequest = {
  encode(message: ExtendFrameRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.handle !== '') writer.uint32(10).string(message.handle);
    if (message.ttlSeconds !== undefined) writer.uint32(16).int64(longFromBigint(message.ttlSeconds));
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ExtendFrameRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let handle = '';
    let ttlSeconds: bigint | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          handle = reader.string();
          break;
        case 16:
          ttlSeconds = bigintFromLong(reader.int64());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ExtendFrameRequest ends inside a field.');
    return { handle, ttlSeconds };
  },

  fromPartial(partial: Partially<ExtendFrameRequest>): ExtendFrameRequest {
    return {
      handle: partial.handle ?? '',
      ttlSeconds: partial.ttlSeconds,
    };
  },
};

/** The frame with its new expiry time. */
export interface ExtendFrameResponse {
  /** The frame as it is now. */
  readonly frame: FrameInfo | undefined;
}

/** Writes and reads `ExtendFrameResponse`. */
export const ExtendFrameResponse = {
  encode(message: ExtendFrameResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.frame !== undefined) FrameInfo.encode(message.frame, writer.uint32(10).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): ExtendFrameResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let frame: FrameInfo | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          frame = FrameInfo.decode(reader, reader.uint32());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('ExtendFrameResponse ends inside a field.');
    return { frame };
  },

  fromPartial(partial: Partially<ExtendFrameResponse>): ExtendFrameResponse {
    return {
      frame: partial.frame === undefined ? undefined : FrameInfo.fromPartial(partial.frame),
    };
  },
};

/** A statement, and the part of its result to return. */
export interface QueryRequest {
  /** The statement. */
  readonly sql: string;
  /** The values of `?` or `$1`, in order. */
  readonly params: readonly SqlValue[];
  /** The engine: `local` (this server, the default) or `scheduler`. */
  readonly engine: string;
  /** The most rows to return; absent = all. */
  readonly limit: bigint | undefined;
  /** Rows to skip. */
  readonly offset: bigint;
  /** Columns to return, in this order; empty = all. */
  readonly columns: readonly string[];
}

/** Writes and reads `QueryRequest`. */
export const QueryRequest = {
  encode(message: QueryRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sql !== '') writer.uint32(10).string(message.sql);
    for (const item of message.params) SqlValue.encode(item, writer.uint32(18).fork()).ldelim();
    if (message.engine !== '') writer.uint32(26).string(message.engine);
    if (message.limit !== undefined) writer.uint32(32).int64(longFromBigint(message.limit));
    if (message.offset !== 0n) writer.uint32(40).int64(longFromBigint(message.offset));
    for (const item of message.columns) writer.uint32(50).string(item);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): QueryRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sql = '';
    const params: SqlValue[] = [];
    let engine = '';
    let limit: bigint | undefined;
    let offset = 0n;
    const columns: string[] = [];
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sql = reader.string();
          break;
        case 18:
          params.push(SqlValue.decode(reader, reader.uint32()));
          break;
        case 26:
          engine = reader.string();
          break;
        case 32:
          limit = bigintFromLong(reader.int64());
          break;
        case 40:
          offset = bigintFromLong(reader.int64());
          break;
        case 50:
          columns.push(reader.string());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('QueryRequest ends inside a field.');
    return { sql, params, engine, limit, offset, columns };
  },

  fromPartial(partial: Partially<QueryRequest>): QueryRequest {
    return {
      sql: partial.sql ?? '',
      params: partial.params?.map((item) => SqlValue.fromPartial(item)) ?? [],
      engine: partial.engine ?? '',
      limit: partial.limit,
      offset: partial.offset ?? 0n,
      columns: partial.columns ?? [],
    };
  },
};

/** The value of a parameter of a statement; null if no kind is set. */
export interface SqlValue {
  /** A boolean. */
  readonly boolValue: boolean | undefined;
  /** An integer. */
  readonly intValue: bigint | undefined;
  /** A floating-point number. */
  readonly doubleValue: number | undefined;
  /** A text. */
  readonly stringValue: string | undefined;
  /** Bytes. */
  readonly bytesValue: Uint8Array | undefined;
  /** Any other type, as text. */
  readonly typedValue: TypedText | undefined;
}

/** Writes and reads `SqlValue`. */
export const SqlValue = {
  encode(message: SqlValue, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.boolValue !== undefined) writer.uint32(8).bool(message.boolValue);
    if (message.intValue !== undefined) writer.uint32(16).int64(longFromBigint(message.intValue));
    if (message.doubleValue !== undefined) writer.uint32(25).double(message.doubleValue);
    if (message.stringValue !== undefined) writer.uint32(34).string(message.stringValue);
    if (message.bytesValue !== undefined) writer.uint32(42).bytes(message.bytesValue);
    if (message.typedValue !== undefined) TypedText.encode(message.typedValue, writer.uint32(50).fork()).ldelim();
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): SqlValue {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let boolValue: boolean | undefined;
    let intValue: bigint | undefined;
    let doubleValue: number | undefined;
    let stringValue: string | undefined;
    let bytesValue: Uint8Array | undefined;
    let typedValue: TypedText | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 8:
          boolValue = reader.bool();
          intValue = undefined;
          doubleValue = undefined;
          stringValue = undefined;
          bytesValue = undefined;
          typedValue = undefined;
          break;
        case 16:
          intValue = bigintFromLong(reader.int64());
          boolValue = undefined;
          doubleValue = undefined;
          stringValue = undefined;
          bytesValue = undefined;
          typedValue = undefined;
          break;
        case 25:
          doubleValue = reader.double();
          boolValue = undefined;
          intValue = undefined;
          stringValue = undefined;
          bytesValue = undefined;
          typedValue = undefined;
          break;
        case 34:
          stringValue = reader.string();
          boolValue = undefined;
          intValue = undefined;
          doubleValue = undefined;
          bytesValue = undefined;
          typedValue = undefined;
          break;
        case 42:
          bytesValue = reader.bytes();
          boolValue = undefined;
          intValue = undefined;
          doubleValue = undefined;
          stringValue = undefined;
          typedValue = undefined;
          break;
        case 50:
          typedValue = TypedText.decode(reader, reader.uint32());
          boolValue = undefined;
          intValue = undefined;
          doubleValue = undefined;
          stringValue = undefined;
          bytesValue = undefined;
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('SqlValue ends inside a field.');
    return { boolValue, intValue, doubleValue, stringValue, bytesValue, typedValue };
  },

  fromPartial(partial: Partially<SqlValue>): SqlValue {
    return {
      boolValue: partial.boolValue,
      intValue: partial.intValue,
      doubleValue: partial.doubleValue,
      stringValue: partial.stringValue,
      bytesValue: partial.bytesValue,
      typedValue: partial.typedValue === undefined ? undefined : TypedText.fromPartial(partial.typedValue),
    };
  },
};

/** A text and its SQL type, such as `2024-01-02 03:04:05` and `TIMESTAMP`. */
export interface TypedText {
  /** The name of the type. */
  readonly type: string;
  /** The text. */
  readonly text: string;
}

/** Writes and reads `TypedText`. */
export const TypedText = {
  encode(message: TypedText, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.type !== '') writer.uint32(10).string(message.type);
    if (message.text !== '') writer.uint32(18).string(message.text);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): TypedText {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let type = '';
    let text = '';
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          type = reader.string();
          break;
        case 18:
          text = reader.string();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('TypedText ends inside a field.');
    return { type, text };
  },

  fromPartial(partial: Partially<TypedText>): TypedText {
    return {
      type: partial.type ?? '',
      text: partial.text ?? '',
    };
  },
};

/** A part of a query result. */
export interface QueryResponse {
  /** The next bytes of an Arrow IPC stream, split anywhere. */
  readonly chunk: Uint8Array;
}

/** Writes and reads `QueryResponse`. */
export const QueryResponse = {
  encode(message: QueryResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.chunk.length > 0) writer.uint32(10).bytes(message.chunk);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): QueryResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let chunk: Uint8Array = new Uint8Array(0);
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          chunk = reader.bytes();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('QueryResponse ends inside a field.');
    return { chunk };
  },

  fromPartial(partial: Partially<QueryResponse>): QueryResponse {
    return {
      chunk: partial.chunk ?? new Uint8Array(0),
    };
  },
};

/** A statement, and where to store its result. */
export interface KeepQueryRequest {
  /** The statement. */
  readonly sql: string;
  /** The values of `?` or `$1`, in order. Not allowed for the time-series database. */
  readonly params: readonly SqlValue[];
  /** The engine: `local` (this server, the default), `scheduler`, or `tsdb` (the time-series database). */
  readonly engine: string;
  /** The handle of the frame; empty = the server generates one. */
  readonly handle: string;
  /** Store only if the handle is free, else ALREADY_EXISTS. */
  readonly ifAbsent: boolean;
  /** Replace only this version, else ABORTED; empty = any version. */
  readonly ifVersion: string;
  /** Seconds until the frame expires, 1 to 3153600000 (100 years); absent = it never expires. */
  readonly ttlSeconds: bigint | undefined;
}

/** Writes and reads `KeepQueryRequest`. */
export const KeepQueryRequest = {
  encode(message: KeepQueryRequest, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.sql !== '') writer.uint32(10).string(message.sql);
    for (const item of message.params) SqlValue.encode(item, writer.uint32(18).fork()).ldelim();
    if (message.engine !== '') writer.uint32(26).string(message.engine);
    if (message.handle !== '') writer.uint32(34).string(message.handle);
    if (message.ifAbsent) writer.uint32(40).bool(message.ifAbsent);
    if (message.ifVersion !== '') writer.uint32(50).string(message.ifVersion);
    if (message.ttlSeconds !== undefined) writer.uint32(56).int64(longFromBigint(message.ttlSeconds));
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): KeepQueryRequest {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let sql = '';
    const params: SqlValue[] = [];
    let engine = '';
    let handle = '';
    let ifAbsent = false;
    let ifVersion = '';
    let ttlSeconds: bigint | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          sql = reader.string();
          break;
        case 18:
          params.push(SqlValue.decode(reader, reader.uint32()));
          break;
        case 26:
          engine = reader.string();
          break;
        case 34:
          handle = reader.string();
          break;
        case 40:
          ifAbsent = reader.bool();
          break;
        case 50:
          ifVersion = reader.string();
          break;
        case 56:
          ttlSeconds = bigintFromLong(reader.int64());
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('KeepQueryRequest ends inside a field.');
    return { sql, params, engine, handle, ifAbsent, ifVersion, ttlSeconds };
  },

  fromPartial(partial: Partially<KeepQueryRequest>): KeepQueryRequest {
    return {
      sql: partial.sql ?? '',
      params: partial.params?.map((item) => SqlValue.fromPartial(item)) ?? [],
      engine: partial.engine ?? '',
      handle: partial.handle ?? '',
      ifAbsent: partial.ifAbsent ?? false,
      ifVersion: partial.ifVersion ?? '',
      ttlSeconds: partial.ttlSeconds,
    };
  },
};

/** The stored frame. */
export interface KeepQueryResponse {
  /** The frame. */
  readonly frame: FrameInfo | undefined;
  /** Whether the handle was free before. */
  readonly created: boolean;
}

/** Writes and reads `KeepQueryResponse`. */
export const KeepQueryResponse = {
  encode(message: KeepQueryResponse, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {
    if (message.frame !== undefined) FrameInfo.encode(message.frame, writer.uint32(10).fork()).ldelim();
    if (message.created) writer.uint32(16).bool(message.created);
    return writer;
  },

  decode(input: Uint8Array | protobuf.Reader, length?: number): KeepQueryResponse {
    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);
    const end = length === undefined ? reader.len : reader.pos + length;
    let frame: FrameInfo | undefined;
    let created = false;
    while (reader.pos < end) {
      const tag = reader.uint32();
      switch (tag) {
        case 10:
          frame = FrameInfo.decode(reader, reader.uint32());
          break;
        case 16:
          created = reader.bool();
          break;
        default:
          reader.skipType(tag & 7);
      }
    }
    if (reader.pos !== end) throw new RangeError('KeepQueryResponse ends inside a field.');
    return { frame, created };
  },

  fromPartial(partial: Partially<KeepQueryResponse>): KeepQueryResponse {
    return {
      frame: partial.frame === undefined ? undefined : FrameInfo.fromPartial(partial.frame),
      created: partial.created ?? false,
    };
  },
};

/**
 * Puts, reads, lists and drops frames (tables of typed columns, each under a handle), and runs SQL over them.
 *
 * A handle has 1 to 128 letters, digits, dots, dashes and underscores, and begins with a letter or digit.
 */
export const FrameServiceDefinition = {
  name: 'FrameService',
  fullName: 'svc.frames.v1.FrameService',
  methods: {
    /**
     * Puts a frame under a handle, and replaces an existing one. Atomic: the frame changes only after the client has
     * half-closed its stream, and a client that cancels or disconnects changes nothing.
     */
    putFrame: {
      name: 'PutFrame',
      requestType: PutFrameRequest,
      requestStream: true,
      responseType: PutFrameResponse,
      responseStream: false,
      options: {},
    },
    /** Reads a frame, or a part of it. All of the data is of the version that the frame had when the call began. */
    getFrame: {
      name: 'GetFrame',
      requestType: GetFrameRequest,
      requestStream: false,
      responseType: GetFrameResponse,
      responseStream: true,
      options: { idempotencyLevel: 'NO_SIDE_EFFECTS' },
    },
    /** Lists frames, sorted by handle. */
    listFrames: {
      name: 'ListFrames',
      requestType: ListFramesRequest,
      requestStream: false,
      responseType: ListFramesResponse,
      responseStream: false,
      options: { idempotencyLevel: 'NO_SIDE_EFFECTS' },
    },
    /** Describes a frame without reading it. */
    describeFrame: {
      name: 'DescribeFrame',
      requestType: DescribeFrameRequest,
      requestStream: false,
      responseType: DescribeFrameResponse,
      responseStream: false,
      options: { idempotencyLevel: 'NO_SIDE_EFFECTS' },
    },
    /** Drops a frame. Running reads finish. */
    dropFrame: {
      name: 'DropFrame',
      requestType: DropFrameRequest,
      requestStream: false,
      responseType: DropFrameResponse,
      responseStream: false,
      options: {},
    },
    /** Sets or removes the expiry time of a frame. */
    extendFrame: {
      name: 'ExtendFrame',
      requestType: ExtendFrameRequest,
      requestStream: false,
      responseType: ExtendFrameResponse,
      responseStream: false,
      options: {},
    },
    /** Runs one read-only SQL statement. The caller's frames are tables, named by their handles. */
    query: {
      name: 'Query',
      requestType: QueryRequest,
      requestStream: false,
      responseType: QueryResponse,
      responseStream: true,
      options: { idempotencyLevel: 'NO_SIDE_EFFECTS' },
    },
    /** Stores the result of an SQL statement as a frame, and replaces an existing one. Atomic. */
    keepQuery: {
      name: 'KeepQuery',
      requestType: KeepQueryRequest,
      requestStream: false,
      responseType: KeepQueryResponse,
      responseStream: false,
      options: {},
    },
  },
} as const;
