/**
 * A batch on the pipe: a head of 32-bit words (their count, then values whose meaning follows from the column types),
 * then buffers, each aligned to 8 bytes so that a typed array of any type can view them.
 */
export interface BatchWriter {
  word(value: number): void;
  /** A buffer; its length goes into the head. */
  buffer(bytes: Uint8Array): void;
  /** The parts of the payload, in order. */
  finish(): { readonly parts: readonly Uint8Array[]; readonly length: number };
}

/** Reads values in the order in which a `BatchWriter` wrote them. */
export interface BatchReader {
  word(): number;
  buffer(): Uint8Array<ArrayBuffer>;
}

const PADDING = new Uint8Array(8);

/** A writer of one batch. Buffers are not copied. */
export function createBatchWriter(): BatchWriter {
  const words: number[] = [];
  const buffers: Uint8Array[] = [];
  let bodyBytes = 0;
  return {
    word(value) {
      words.push(value);
    },
    buffer(bytes) {
      words.push(bytes.length);
      if (bytes.length === 0) return;
      const padding = -bytes.length & 7;
      buffers.push(bytes);
      if (padding > 0) buffers.push(PADDING.subarray(0, padding));
      bodyBytes += bytes.length + padding;
    },
    finish() {
      // An odd number of words plus the count aligns the body to 8 bytes.
      if (words.length % 2 === 0) words.push(0);
      const head = new Uint32Array(words.length + 1);
      head[0] = words.length;
      head.set(words, 1);
      return { parts: [new Uint8Array(head.buffer), ...buffers], length: head.byteLength + bodyBytes };
    },
  };
}

/** A reader of a payload. */
export function createBatchReader(payload: ArrayBuffer): BatchReader {
  const count = new Uint32Array(payload, 0, 1)[0] ?? 0;
  const words = new Uint32Array(payload, 4, count);
  let next = 0;
  let at = 4 * (count + 1);
  function word(): number {
    const value = words[next++];
    if (value === undefined) throw new Error('A batch on the pipe does not match its column types.');
    return value;
  }
  return {
    word,
    buffer() {
      const length = word();
      const bytes = new Uint8Array(payload, length === 0 ? 0 : at, length);
      at += length + (-length & 7);
      return bytes;
    },
  };
}

/** Views bytes of a `BatchReader` as an array of another type. */
export function arrayOver<A>(
  type: { new (buffer: ArrayBuffer, byteOffset: number, length: number): A; readonly BYTES_PER_ELEMENT: number },
  bytes: Uint8Array<ArrayBuffer>,
): A {
  return new type(bytes.buffer, bytes.byteOffset, bytes.length / type.BYTES_PER_ELEMENT);
}
