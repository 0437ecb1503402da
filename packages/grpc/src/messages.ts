import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { ListedFrame, SqlValue } from '@svc/frames';
import {
  type FrameInfo as FrameInfoMessage,
  type GetFrameRequest,
  type Partially,
  type PutFrameRequest,
  type PutFrameTarget,
  SqlValue as SqlValueMessage,
  type Timestamp,
} from '@svc/proto';
import {
  ENGINE_NAMES,
  type EngineName,
  type ReadFrameOptions,
  type ShownInfo,
  SQL_TARGETS,
  type SqlTarget,
} from '@svc/service';
import { TTL_HINT } from '@svc/service/internal';

/** Converts the metadata of a frame to a message. Unknown rows are -1, as in Flight: 0 would be a number. */
export function frameInfoMessage(info: ListedFrame | ShownInfo): FrameInfoMessage {
  return {
    handle: info.handle,
    rows: BigInt(info.rows ?? -1),
    bytes: BigInt(info.bytes),
    columns: info.columns ?? [],
    created: timestampMessage(info.created),
    version: info.version,
    expires: info.expires === null ? undefined : timestampMessage(info.expires),
    tier: info.tier,
  };
}

/** Returns the target of an upload from its first message. */
export function targetFrom(message: PutFrameRequest | undefined): PutFrameTarget & { readonly handle: string } {
  if (message?.target === undefined) {
    throw new ServiceError(
      'invalid_argument',
      message === undefined ? 'The upload has no message.' : 'The first message of the upload has no target.',
      { hint: 'Send a message with the field target first, then the data in messages with the field chunk.' },
    );
  }
  return { ...message.target, handle: handleFrom(message.target.handle) };
}

/** Returns the data of an upload from one of its later messages. */
export function chunkFrom(message: PutFrameRequest): Uint8Array {
  if (message.target !== undefined) {
    throw new ServiceError(
      'invalid_argument',
      `The upload has a second target, ${quoted(message.target.handle)}, after its first message.`,
      { hint: 'Send one frame per call.' },
    );
  }
  return message.chunk ?? new Uint8Array(0);
}

/** Returns the handle of a request. Throws if it is empty. */
export function handleFrom(handle: string): string {
  if (handle !== '') return handle;
  throw new ServiceError('invalid_argument', 'The field handle is empty.', {
    hint: 'Set handle to the name of a frame.',
  });
}

/** Converts a 64-bit count to a number. Throws if it is out of range. */
export function countFrom(field: string, value: bigint): number {
  if (value >= 0n && value <= Number.MAX_SAFE_INTEGER) return Number(value);
  throw new ServiceError('invalid_argument', `The field ${field} is ${value}.`, {
    hint: `Set ${field} to a number from 0 to ${Number.MAX_SAFE_INTEGER}, or leave it out.`,
  });
}

/** Returns the rows and columns of a request. */
export function partFrom(request: Pick<GetFrameRequest, 'columns' | 'limit' | 'offset'>): ReadFrameOptions {
  const { limit, offset, columns } = request;
  return {
    offset: countFrom('offset', offset),
    ...(limit === undefined ? {} : { limit: countFrom('limit', limit) }),
    ...(columns.length === 0 ? {} : { columns }),
  };
}

/** Converts a TTL to a number; the service checks its range. */
export function ttlFrom(value: bigint): number {
  const seconds = Number(value);
  if (Number.isSafeInteger(seconds)) return seconds;
  throw new ServiceError('invalid_argument', `The field ttl_seconds is ${value}.`, { hint: TTL_HINT });
}

/** Converts a time to a message. */
export function timestampMessage(date: Date): Timestamp {
  const ms = date.getTime();
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1_000_000 };
}

/** Returns the statement of a request. Throws if it is empty. */
export function sqlFrom(sql: string): string {
  if (sql.trim() !== '') return sql;
  throw new ServiceError('invalid_argument', 'The field sql is empty.', { hint: 'Set sql to one SQL statement.' });
}

/** Returns the engine of a statement; undefined if the client names none. */
export function engineFrom(engine: string): EngineName | undefined {
  return nameFrom(engine, ENGINE_NAMES);
}

/** Returns the engine whose result is stored; undefined if the client names none. */
export function keepEngineFrom(engine: string): SqlTarget | undefined {
  return nameFrom(engine, SQL_TARGETS);
}

/** Converts a message to a parameter value. */
export function sqlValueFrom(message: SqlValueMessage): SqlValue {
  const { boolValue, intValue, doubleValue, stringValue, bytesValue, typedValue } = message;
  // Give a double its type: without one, a whole number would become an integer.
  if (doubleValue !== undefined) return { type: 'DOUBLE', text: String(doubleValue) };
  return boolValue ?? intValue ?? stringValue ?? bytesValue ?? typedValue ?? null;
}

/** Converts a parameter value to a message. */
export function sqlValueMessage(value: SqlValue): SqlValueMessage {
  if (value === null) return SqlValueMessage.fromPartial({});
  if (typeof value === 'boolean') return SqlValueMessage.fromPartial({ boolValue: value });
  if (typeof value === 'bigint') return SqlValueMessage.fromPartial(bigintPart(value));
  if (typeof value === 'number') return SqlValueMessage.fromPartial({ doubleValue: value });
  if (typeof value === 'string') return SqlValueMessage.fromPartial({ stringValue: value });
  if (value instanceof Uint8Array) return SqlValueMessage.fromPartial({ bytesValue: value });
  return SqlValueMessage.fromPartial({ typedValue: value });
}

function bigintPart(value: bigint): Partially<SqlValueMessage> {
  const isLong = BigInt.asIntN(64, value) === value;
  return isLong ? { intValue: value } : { typedValue: { type: 'HUGEINT', text: String(value) } };
}

function nameFrom<Name extends SqlTarget>(engine: string, names: readonly Name[]): Name | undefined {
  if (engine === '') return undefined;
  const known = names.find((name) => name === engine);
  if (known !== undefined) return known;
  throw new ServiceError('invalid_argument', `There is no engine ${quoted(engine)}.`, {
    hint: `Set engine to ${names.join(' or ')}, or leave it out.`,
  });
}
