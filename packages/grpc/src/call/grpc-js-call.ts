import { Duplex } from 'node:stream';
import { Metadata, type ServerInterceptingCallInterface, status as Status } from '@grpc/grpc-js';
import type { ArrowMessage } from '@svc/frames/ipc';
import { MAX_DECOMPRESSED_BYTES } from './message-limits.ts';

// Everything that this package changes in a call of grpc-js, or reads of it without an official way. A test fails if the
// installed version has its parts elsewhere.

/** Returns the HTTP/2 stream of a call; undefined if this version of grpc-js stores it elsewhere. */
export function streamOf(call: object): Duplex | undefined {
  if (!('stream' in call) || !(call.stream instanceof Duplex)) return undefined;
  return 'respond' in call.stream ? call.stream : undefined;
}

/** Returns the HTTP/2 session of a call. */
export function sessionOf(call: object): object | undefined {
  const stream = streamOf(call);
  const session: unknown = stream !== undefined && 'session' in stream ? stream.session : undefined;
  return typeof session === 'object' && session !== null ? session : undefined;
}

/** The bytes of a call. */
export interface ByteCounts {
  /** Bytes of the received messages. */
  requestBytes: number;
  /** Bytes of the sent messages. */
  responseBytes: number;
  /** When the first message was sent. */
  firstByteAt: number | undefined;
}

/** Counts the bytes of a call of grpc-js. If its HTTP/2 stream is not found, they stay 0. */
export function countBytes(call: object, counts: ByteCounts): void {
  const stream = streamOf(call);
  if (stream === undefined) return;
  // In front of the listener of grpc-js, which may end the call. Unlike `on`, this does not start the stream.
  stream.prependListener('data', (chunk: Uint8Array) => {
    counts.requestBytes += chunk.byteLength;
  });
  const write = stream.write.bind(stream);
  const counted = (chunk: Uint8Array, ...rest: [never, never]): boolean => {
    counts.firstByteAt ??= performance.now();
    counts.responseBytes += chunk.byteLength;
    return write(chunk, ...rest);
  };
  Object.defineProperty(stream, 'write', { value: counted, configurable: true, writable: true });
}

/** The status of a call in the form of grpc-js. */
export type SentStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

/**
 * Passes each status to `finish`, which sends it: also one that grpc-js chose itself (deadline, message too large). Drops the
 * messages of an answered call: after its status one would break the stream, and the status would be lost.
 */
export function finishStatus(
  call: ServerInterceptingCallInterface,
  isAnswered: () => boolean,
  finish: (status: SentStatus, send: (status: SentStatus) => void) => void,
): void {
  const sendStatus = call.sendStatus.bind(call);
  const sendMessage = call.sendMessage.bind(call);
  call.sendStatus = (status) => finish(status, sendStatus);
  call.sendMessage = (message, onSent) => {
    if (!isAnswered()) sendMessage(message, onSent);
  };
}

/**
 * Makes a call send the bodies of Arrow messages without copies: grpc-js would copy each of them three times. It writes to
 * the private HTTP/2 stream of the call. If the stream is not found, messages are copied.
 */
export function sendUncopied(call: ServerInterceptingCallInterface): void {
  const send = call.sendMessage.bind(call);
  call.sendMessage = (message: unknown, onSent) => {
    if (!(message instanceof FlightMessage)) return send(message, onSent);
    const done = (): void => {
      message.onSent();
      onSent();
    };
    const stream = streamOf(call);
    // Leave a closed stream to grpc-js.
    if (stream === undefined || stream.destroyed) return send(message, done);
    const { body, bodyLength } = message.arrow;
    if (bodyLength < SMALL_BYTES || bodyLength < SMALL_PART_BYTES * body.length) {
      // Send a short response in one write: separate messages would wake the client more than once.
      const mayFollow = stream.writableLength < SMALL_BYTES;
      send(message, mayFollow ? () => undefined : done);
      if (mayFollow) done();
      return;
    }
    call.sendMetadata(new Metadata());
    writeUncopied(stream, message, (error) => {
      if (!error) done();
      else call.sendStatus({ code: Status.INTERNAL, details: 'The response could not be sent.' });
    });
  };
}

function writeUncopied(
  stream: Duplex,
  { arrow }: FlightMessage,
  onWritten: (error: Error | null | undefined) => void,
): void {
  const head = flightDataHead(arrow);
  const frame = Buffer.alloc(PREFIX_BYTES);
  frame.writeUInt32BE(head.length + arrow.bodyLength, 1);
  stream.cork();
  stream.write(Buffer.concat([frame, head]));
  arrow.body.forEach((part, i) => {
    if (i < arrow.body.length - 1) stream.write(part);
    else stream.write(part, onWritten);
  });
  stream.uncork();
}

/** Shorter messages, and those of shorter parts, are copied, because separate writes cost more. */
const SMALL_BYTES = 16 * 1024;
const SMALL_PART_BYTES = 1024;

/** An Arrow message to send. A class, for the send path to recognize it. */
export class FlightMessage {
  readonly arrow: ArrowMessage;
  /** Called when the message has been passed to the system and the next one may follow. */
  readonly onSent: () => void;

  constructor(arrow: ArrowMessage, onSent: () => void) {
    this.arrow = arrow;
    this.onSent = onSent;
  }
}

/** Encodes a `FlightData` up to its body, the last field. The buffers of the body follow on the wire. */
function flightDataHead({ header, bodyLength }: ArrowMessage): Uint8Array {
  const length = fieldLength(HEADER_TAG, header.length) + header.length + fieldLength(BODY_TAG, bodyLength);
  const bytes = new Uint8Array(length);
  let at = writeField(bytes, 0, HEADER_TAG, header.length);
  bytes.set(header, at);
  at = writeField(bytes, at + header.length, BODY_TAG, bodyLength);
  return bytes;
}

/** Encodes a complete `FlightData`, with a copy of the body. */
export function encodeFlightData(message: ArrowMessage): Uint8Array {
  const head = flightDataHead(message);
  return Buffer.concat([head, ...message.body], head.length + message.bodyLength);
}

/** `data_header` is field 2, `data_body` field 1000; both are bytes. */
const HEADER_TAG = (2 << 3) | 2;
const BODY_TAG = (1000 << 3) | 2;

function fieldLength(tag: number, length: number): number {
  return varintLength(tag) + varintLength(length);
}

function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) length++;
  return length;
}

function writeField(bytes: Uint8Array, at: number, tag: number, length: number): number {
  return writeVarint(bytes, writeVarint(bytes, at, tag), length);
}

function writeVarint(bytes: Uint8Array, at: number, value: number): number {
  let next = at;
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[next++] = (rest % 128) | 128;
  bytes[next++] = rest;
  return next;
}

/**
 * Limits the messages of a call of grpc-js, and makes it copy a large one while it arrives: by default grpc-js copies it
 * at the end, which takes 70 ms for 64 MiB. It reads the next bytes when its handler has read the messages before them. If
 * this version of grpc-js has no such decoder, the limit of the server holds.
 */
export function limitMessages(call: object, maxBytes: number): void {
  if (!('decoder' in call && 'maxReceiveMessageSize' in call)) return;
  const stream = streamOf(call);
  if (stream === undefined) return;
  call.decoder = createMessageDecoder(maxBytes, (rest) => stream.pause().unshift(rest));
  call.maxReceiveMessageSize = Math.min(maxBytes, MAX_DECOMPRESSED_BYTES);
}

/** The length of the prefix of every message: a compression flag and the length of the rest. */
const PREFIX_BYTES = 5;
/** The buffer of a message begins with this length and grows by this factor: a false length costs little memory. */
const FIRST_BYTES = 1024 ** 2;
const GROWTH = 8;
/** The most messages read at once: 64 KiB can have thousands of empty ones. */
const MESSAGES_AT_ONCE = 32;

/**
 * Creates the decoder of one stream. Throws at a message longer than `maxBytes`, and ignores what follows. Calls `putBack`
 * with the bytes after the messages read at once.
 */
export function createMessageDecoder(
  maxBytes: number,
  putBack: (rest: Buffer) => void,
): { readonly write: (data: Buffer) => Buffer[] } {
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
