/**
 * What goes over the pipe between a process and its engine child: frames of a head of 12 bytes (length of the payload,
 * number of the request, kind; little-endian) and a payload.
 */
export const MESSAGE = {
  /** To the child: a request, as JSON. */
  request: 1,
  /** Both ways: a batch of rows. */
  batch: 2,
  /** Both ways: there are no more batches. From the child it holds the answer, as JSON. */
  end: 3,
  /** Both ways: so many batches more may be sent. */
  credit: 4,
  /** To the child: stop working on the request; it answers with an error all the same. */
  cancel: 5,
  /** From the child: the request failed, as JSON. */
  error: 6,
  /** From the child: a batch of rows is in the file of batches; at which place, and how long it is. */
  placed: 7,
  /** To the child: what was at a place was taken. */
  free: 8,
  /** To the child: answer this at once. */
  ping: 9,
  /** From the child: the answer to a ping. */
  pong: 10,
} as const;

/** How many batches of a request may be under way before the receiver asked for more. */
export const BATCH_CREDITS = 4;

/** How large a batch grows before it is sent. */
export const BATCH_BYTES = 1024 * 1024;
/** How many rows a batch has at the most. */
export const BATCH_ROWS = 65_536;

const HEAD_BYTES = 12;

/** Takes a frame. The payload is its own, to keep or to hand on. */
export type OnMessage = (kind: number, request: number, payload: ArrayBuffer) => void;

/** The head of a frame. */
export function messageHead(kind: number, request: number, length: number): Uint8Array {
  const head = new Uint32Array([length, request, kind]);
  return new Uint8Array(head.buffer);
}

/** A payload of numbers. */
export function wordsPayload(...words: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(words).buffer);
}

/** A payload of JSON. */
export function jsonPayload(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** The value in a payload of JSON. Both ends are ours: it is what the other end wrote. */
export function parseJson(payload: ArrayBuffer): ReturnType<typeof JSON.parse> {
  return JSON.parse(Buffer.from(payload).toString());
}

/** Finds the frames in what arrives, however it was cut. */
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
        // Not from the pool: whoever gets the payload gets its whole buffer.
        payload = Buffer.allocUnsafeSlow(head[0] ?? 0);
        filled = 0;
      }
      // Also where there is no payload, and nothing more in the chunk.
      const part = chunk.subarray(at, at + payload.length - filled);
      payload.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled === payload.length) finish(payload);
    }
  };
}
