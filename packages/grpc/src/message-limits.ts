import { Duplex } from 'node:stream';
import { decodeBounded, type MessageBounds } from '@svc/proto';

/**
 * The most bytes of a message without rows: enough for a statement of one MiB, and little enough to decode within the
 * milliseconds that one call may keep the event loop.
 */
const MAX_REQUEST_BYTES = 1024 ** 2 + 64 * 1024;
/** The same for messages that return what the server sent: tickets, and infos with the schema of a wide result. */
const MAX_RETURNED_BYTES = 4 * 1024 ** 2;
/** The most bytes of a message that was compressed: grpc-js copies all of it in one step. */
export const MAX_DECOMPRESSED_BYTES = 8 * 1024 ** 2;

/** Enough to name all columns of the widest frame. */
const BOUNDS: MessageBounds = { maxNumbers: 12_000, maxTextBytes: MAX_REQUEST_BYTES };

const ROWS: ReadonlySet<string> = new Set(['DoPut', 'PutFrame']);
const RETURNED: ReadonlySet<string> = new Set(['DoGet', 'DoAction']);

/** Returns the most bytes of a message to a method. `maxBytes`: of a message with rows. */
export function messageLimit(path: string, maxBytes: number): number {
  const method = path.slice(path.lastIndexOf('/') + 1);
  if (ROWS.has(method)) return maxBytes;
  return Math.min(maxBytes, RETURNED.has(method) ? MAX_RETURNED_BYTES : MAX_REQUEST_BYTES);
}

/** Decodes a message. */
export type Codec<Message> = Parameters<typeof decodeBounded<Message>>[0];

/** A service whose methods read messages. */
interface Readable {
  readonly methods: Readonly<Record<string, { readonly requestType: Codec<unknown> }>>;
}

/** Returns a service that reads messages within bounds. */
export function boundedService<Definition extends Readable>(definition: Definition): Definition {
  const methods = Object.entries(definition.methods).map(([name, method]) => {
    const decode = (bytes: Uint8Array): unknown => decodeRequest(method.requestType, bytes);
    return [name, { ...method, requestType: { ...method.requestType, decode } }] as const;
  });
  return { ...definition, methods: Object.fromEntries(methods) };
}

/** Decodes a message of a client. Throws if it is not valid, or has more fields or text than any valid one. */
export function decodeRequest<Message>(codec: Codec<Message>, bytes: Uint8Array): Message {
  return decodeBounded(codec, bytes, BOUNDS);
}

/** The hint of a message that cannot be decoded. */
export const REQUEST_HINT =
  'Check that client and server use the same .proto file. A message has at most ' +
  `${BOUNDS.maxNumbers} fields and ${BOUNDS.maxTextBytes} bytes of text.`;

/**
 * Limits the messages of a call of grpc-js, and makes it copy a large one while it arrives: by default grpc-js copies it
 * at the end, which takes 70 ms for 64 MiB. It reads the next bytes when its handler has read the messages before them. If
 * this version of grpc-js has no such decoder, the limit of the server holds.
 */
export function limitMessages(call: object, maxBytes: number): void {
  if (!('decoder' in call && 'maxReceiveMessageSize' in call && 'stream' in call)) return;
  const { stream } = call;
  if (!(stream instanceof Duplex)) return;
  call.decoder = createMessageDecoder(maxBytes, (rest) => stream.pause().unshift(rest));
  call.maxReceiveMessageSize = Math.min(maxBytes, MAX_DECOMPRESSED_BYTES);
}

/** Splits the bytes of a stream into messages, each with its prefix. */
export interface MessageDecoder {
  write(data: Buffer): Buffer[];
}

/** The length of the prefix of every message: a compression flag and the length of the rest. */
const PREFIX_BYTES = 5;
/** The buffer of a message begins with this length and grows by this factor: a false length costs little memory. */
const FIRST_BYTES = 1024 ** 2;
const GROWTH = 8;
/** The most messages of some bytes that are read at once: 64 KiB can have thousands of empty ones. */
const MESSAGES_AT_ONCE = 32;

/**
 * Creates the decoder of one stream. Throws at a message longer than `maxBytes`, and ignores what follows. Calls `putBack`
 * with the bytes after the messages that are read at once.
 */
export function createMessageDecoder(maxBytes: number, putBack: (rest: Buffer) => void): MessageDecoder {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  let message = prefix;
  let length = PREFIX_BYTES;
  let filled = 0;
  let isRefused = false;

  function begin(size: number): void {
    isRefused = size > maxBytes;
    if (isRefused) throw new Error(`Received message larger than max (${size} vs ${maxBytes})`);
    length = PREFIX_BYTES + size;
    message = Buffer.allocUnsafe(Math.min(length, FIRST_BYTES));
    prefix.copy(message);
  }

  function grow(): void {
    const larger = Buffer.allocUnsafe(Math.min(length, message.length * GROWTH));
    message.copy(larger);
    message = larger;
  }

  return {
    write(data) {
      const messages: Buffer[] = [];
      for (let at = 0; at < data.length && !isRefused;) {
        const isPrefix = filled < PREFIX_BYTES;
        if (!isPrefix && filled === message.length) grow();
        const copied = data.copy(isPrefix ? prefix : message, filled, at);
        at += copied;
        filled += copied;
        if (isPrefix && filled === PREFIX_BYTES) begin(prefix.readUInt32BE(1));
        if (filled < PREFIX_BYTES || filled < length) continue;
        messages.push(message);
        filled = 0;
        if (messages.length < MESSAGES_AT_ONCE || at === data.length) continue;
        putBack(data.subarray(at));
        break;
      }
      return messages;
    },
  };
}
