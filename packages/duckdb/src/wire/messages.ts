import type { Socket } from 'node:net';

/**
 * Messages on the pipe between the parent and its engine child: a head of 12 bytes (payload length, request id, kind;
 * little-endian) and a payload.
 */
export const MESSAGE = {
  /** To the child: a request, as JSON. */
  request: 1,
  /** Both ways: a batch of rows. */
  batch: 2,
  /** Both ways: no more batches. From the child it carries the response, as JSON. */
  end: 3,
  /** Both ways: the sender may send this many more batches (flow control). */
  credit: 4,
  /** To the child: cancel the request. The child still responds, with an error. */
  cancel: 5,
  /** From the child: the request failed, as JSON. */
  error: 6,
  /** From the child: a batch is in the batch file, at this place and of this length. */
  placed: 7,
  /** To the child: a place in the batch file is free. */
  free: 8,
  /** To the child: reply with a pong at once. */
  ping: 9,
  /** From the child: the reply to a ping. */
  pong: 10,
  /** From the child: the progress of the request, as three doubles. */
  progress: 11,
  /** From the child: the spans of a traced request, as JSON. Before its end or error. */
  spans: 12,
} as const;

/** The batches of a request in flight before the receiver grants more credit. */
export const BATCH_CREDITS = 4;

/** The size at which a batch is sent. Each batch costs as much as some hundred kilobytes of rows, until a client has it. */
export const BATCH_BYTES: number = 2 * 1024 * 1024;
/** The size at which the first batch of a request is sent: it reaches the waiting client sooner. */
export const FIRST_BATCH_BYTES: number = 1024 * 1024;
/** The maximum number of rows in a batch. */
export const BATCH_ROWS = 65_536;

const HEAD_BYTES = 12;

/** Receives a message. The receiver owns the payload. */
export type OnMessage = (kind: number, request: number, payload: ArrayBuffer) => void;

/** Encodes the head of a message. */
export function messageHead(kind: number, request: number, length: number): Uint8Array {
  const head = new Uint32Array([length, request, kind]);
  return new Uint8Array(head.buffer);
}

/** Writes a message to the pipe. */
export function sendMessage(
  pipe: Socket,
  kind: number,
  request: number,
  parts: readonly Uint8Array[] = [],
  length: number = parts.reduce((sum, part) => sum + part.length, 0),
): void {
  pipe.cork();
  pipe.write(messageHead(kind, request, length));
  for (const part of parts) pipe.write(part);
  pipe.uncork();
}

/** Encodes 32-bit numbers as a payload. */
export function wordsPayload(...words: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(words).buffer);
}

/** Encodes doubles as a payload. */
export function doublesPayload(...values: readonly number[]): Uint8Array {
  return new Uint8Array(Float64Array.from(values).buffer);
}

/** Encodes a value as a JSON payload. */
export function jsonPayload(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** Parses JSON of the other end as a `Value`. Both ends run the same build, so the result is trusted. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- The caller knows the type.
export function parseJson<Value>(json: ArrayBuffer | string): Value {
  const parse: (text: string) => Value = JSON.parse;
  return parse(typeof json === 'string' ? json : Buffer.from(json).toString());
}

/** Splits a byte stream into messages. */
export function createMessageParser(onMessage: OnMessage): (chunk: Uint8Array) => void {
  const head = new Uint32Array(HEAD_BYTES / 4);
  const headBytes = new Uint8Array(head.buffer);
  let headFilled = 0;
  let payload: Uint8Array<ArrayBuffer> | undefined;
  let filled = 0;

  function finish(whole: Uint8Array<ArrayBuffer>): void {
    const [, request = 0, kind = 0] = head;
    payload = undefined;
    headFilled = 0;
    onMessage(kind, request, whole.buffer);
  }

  return (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      if (payload === undefined) {
        const part = chunk.subarray(at, at + HEAD_BYTES - headFilled);
        headBytes.set(part, headFilled);
        headFilled += part.length;
        at += part.length;
        if (headFilled < HEAD_BYTES) return;
        // Not from Node's buffer pool: the receiver owns the whole ArrayBuffer.
        payload = Buffer.allocUnsafeSlow(head[0] ?? 0);
        filled = 0;
      }
      // Also runs for an empty payload at the end of a chunk.
      const part = chunk.subarray(at, at + payload.length - filled);
      payload.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled === payload.length) finish(payload);
    }
  };
}

/** The trace of a request, if its spans are recorded. */
export interface RequestTrace {
  /** W3C trace context: the span around the work of the child. */
  readonly traceparent: string;
  /** When the parent sent the request, by `monotonicMs`. */
  readonly sentMs: number;
}

/** What may be added to a request of any kind. */
export interface Traceable {
  /** Omitted if the request is not traced: then the child measures nothing. */
  readonly trace?: RequestTrace;
}

/** A part of the child's work on a traced request. Times are by `monotonicMs`. */
export interface ChildSpan {
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes?: Readonly<Record<string, string | number>>;
}

/** A clock shared by the processes of a machine, unlike `performance.now()`. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
