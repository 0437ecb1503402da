import { onAbort, ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { type Call, encodeArrowStream, type FrameStream, type ListedFrame } from '@svc/frames';
import type {
  FrameInfo as FrameInfoMessage,
  GetFrameRequest,
  PutFrameRequest,
  PutFrameTarget,
  Timestamp,
} from '@svc/proto';
import { type CountedCall, countRows } from './call-traffic.ts';
import type { ReadFrameOptions, ShownInfo } from '@svc/service';
import { TTL_HINT } from '@svc/service/internal';

/** Converts the metadata of a frame to a message. Rows that are not known yet are -1, as in Flight: 0 would be a number. */
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

/** Returns the rows and columns that a request asks for. */
export function partFrom(request: Pick<GetFrameRequest, 'columns' | 'limit' | 'offset'>): ReadFrameOptions {
  const { limit, offset, columns } = request;
  return {
    offset: countFrom('offset', offset),
    ...(limit === undefined ? {} : { limit: countFrom('limit', limit) }),
    ...(columns.length === 0 ? {} : { columns }),
  };
}

/**
 * Encodes a stream as messages with chunks, until the call is cancelled, and counts its rows. `onBytes` is called with the
 * lengths of the chunks.
 */
export async function* chunkMessages(
  call: CountedCall,
  stream: FrameStream,
  onBytes: (bytes: number) => void = () => {},
): AsyncGenerator<{ readonly chunk: Uint8Array }> {
  for await (const chunk of encodeArrowStream(countRows(call, stream))) {
    call.signal.throwIfAborted();
    onBytes(chunk.byteLength);
    yield { chunk };
  }
}

/**
 * Passes messages through, and closes their source at the end or when the call is cancelled, even if the client does not
 * read on.
 */
export async function* closingWith<T>(
  { signal }: Call,
  source: { close(): void },
  messages: AsyncIterable<T>,
): AsyncGenerator<T> {
  let isClosed = false;
  const close = (): void => {
    if (!isClosed) source.close();
    isClosed = true;
  };
  const stopListening = onAbort(signal, close);
  try {
    yield* messages;
  } finally {
    stopListening();
    close();
  }
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
