import { compressBytes } from './compress.ts';

/** An answer as it was sent. */
export interface CachedResponse {
  readonly bytes: Uint8Array;
  /** The same, compressed when that is first asked for. */
  compressed(): Promise<Uint8Array>;
}

/** Short answers that are asked for again and again, as bytes: the rows of a frame are the same as long as its version is. */
export interface ResponseCache {
  get(key: string): CachedResponse | undefined;
  /**
   * Hands the chunks of an answer on. Those of one that was asked for before are kept once they have all come and are
   * not too many; an answer that is asked for once would only push out others.
   */
  keeping(key: string, chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void>;
}

/** One answer may take this part of the cache, and no more than `MAX_RESPONSE_BYTES`. */
const MAX_SHARE = 1 / 16;
const MAX_RESPONSE_BYTES = 1024 * 1024;
/** What an answer takes beside its bytes and its key: its place in a table. */
const OVERHEAD_BYTES = 1024;
/** Of about so many keys it is known that they were asked for. */
const MARKS = 4096;
/** A key may name many columns, and its answer have no row. */
const KEY_CHARACTER_BYTES = 2;

/** A cache of so many bytes; what was asked for least lately goes first. */
export function createResponseCache(maxBytes: number): ResponseCache {
  const maxResponseBytes = Math.min(maxBytes * MAX_SHARE, MAX_RESPONSE_BYTES);
  const kept = new Map<string, CachedResponse & { size: number }>();
  const marks = createMarks();
  let total = 0;

  function drop(key: string): void {
    total -= kept.get(key)?.size ?? 0;
    kept.delete(key);
  }

  function makeRoom(): void {
    for (const key of kept.keys()) {
      if (total <= maxBytes) return;
      drop(key);
    }
  }

  function keep(key: string, bytes: Uint8Array): void {
    drop(key);
    let packed: Promise<Uint8Array> | undefined;
    const response = {
      bytes,
      size: bytes.byteLength + KEY_CHARACTER_BYTES * key.length + OVERHEAD_BYTES,
      compressed: () => (packed ??= pack()),
    };
    async function pack(): Promise<Uint8Array> {
      const short = await compressBytes(bytes);
      if (kept.get(key) !== response) return short;
      response.size += short.byteLength;
      total += short.byteLength;
      makeRoom();
      return short;
    }
    kept.set(key, response);
    total += response.size;
    makeRoom();
  }

  async function* keepAll(key: string, chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
    const seen: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      // A copy: the memory of a chunk may be used again for the next one.
      if (bytes <= maxResponseBytes) seen.push(new Uint8Array(chunk));
      else seen.length = 0;
      yield chunk;
    }
    if (bytes <= maxResponseBytes) keep(key, joined(seen, bytes));
  }

  return {
    get(key) {
      const response = kept.get(key);
      if (response === undefined) return undefined;
      kept.delete(key);
      kept.set(key, response);
      return response;
    },
    keeping: (key, chunks) => (marks.add(key) ? keepAll(key, chunks) : chunks),
  };
}

/** Knows of keys whether they were added before, as long as not too many others were since. */
interface Marks {
  /** Adds a key, and says whether it was there. */
  add(key: string): boolean;
}

/** A table of numbers made from keys: it takes no memory for a key, and to be wrong about one costs an answer's place. */
function createMarks(): Marks {
  const numbers = new Int32Array(MARKS);
  return {
    add(key) {
      let number = 0;
      for (let i = 0; i < key.length; i++) number = (Math.imul(number, 31) + key.charCodeAt(i)) | 0;
      const place = (number ^ (number >>> 16)) & (MARKS - 1);
      const isThere = numbers[place] === number;
      numbers[place] = number;
      return isThere;
    },
  };
}

/** Not out of the memory that Node shares among small buffers: one that is kept would hold all of it. */
function joined(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
