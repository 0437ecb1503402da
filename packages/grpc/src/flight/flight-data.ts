import type { ArrowMessage } from '@svc/frames/internal';

/** An Arrow message to send. A class, so that the send path can recognize it. */
export class FlightMessage {
  readonly arrow: ArrowMessage;
  /** Called when the message has been passed to the system and the next one may follow. */
  readonly onSent: () => void;

  constructor(arrow: ArrowMessage, onSent: () => void) {
    this.arrow = arrow;
    this.onSent = onSent;
  }
}

/** Encodes a `FlightData` up to its body, which is the last field; the buffers of the body follow on the wire. */
export function flightDataHead({ header, bodyLength }: ArrowMessage): Uint8Array {
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
