import { compressBytes } from './compress.ts';

/** An answer as it was sent. */
export interface KeptAnswer {
  readonly bytes: Uint8Array;
  /** The same, compressed when that is first asked for. */
  compressed(): Promise<Uint8Array>;
}

/** Short answers that are asked for again and again, as bytes: the rows of a frame are the same as long as its version is. */
export interface AnswerCache {
  get(key: string): KeptAnswer | undefined;
  /**
   * Hands the chunks of an answer on. Those of one that was asked for before are kept once they have all come and are
   * not too many; an answer that is asked for once would only push out others.
   */
  keeping(key: string, chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void>;
}

/** One answer may take this part of the cache, and no more than `MAX_ANSWER_BYTES`. */
const MAX_SHARE = 1 / 16;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** What an answer takes beside its bytes and its key: its place in a table. */
const OVERHEAD_BYTES = 1024;
/** What it takes to know that a key was asked for once. */
const MARK_BYTES = 256;
/** A key may name many columns, and its answer have no row. */
const KEY_CHARACTER_BYTES = 2;

/** A cache of so many bytes; what was asked for least lately goes first. */
export function createAnswerCache(maxBytes: number): AnswerCache {
  const maxAnswerBytes = Math.min(maxBytes * MAX_SHARE, MAX_ANSWER_BYTES);
  const kept = new Map<string, Entry>();
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

  function put(key: string, entry: Entry): void {
    drop(key);
    kept.set(key, entry);
    total += entry.size;
    makeRoom();
  }

  function keep(key: string, bytes: Uint8Array): void {
    let packed: Promise<Uint8Array> | undefined;
    const entry = {
      answer: { bytes, compressed: () => (packed ??= pack()) },
      size: bytes.byteLength + OVERHEAD_BYTES + sizeOf(key),
    };
    async function pack(): Promise<Uint8Array> {
      const short = await compressBytes(bytes);
      if (kept.get(key) !== entry) return short;
      entry.size += short.byteLength;
      total += short.byteLength;
      makeRoom();
      return short;
    }
    put(key, entry);
  }

  async function* keepAll(key: string, chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
    const seen: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes <= maxAnswerBytes) seen.push(chunk);
      else seen.length = 0;
      yield chunk;
    }
    if (bytes <= maxAnswerBytes) keep(key, joined(seen, bytes));
  }

  return {
    get(key) {
      const entry = kept.get(key);
      if (entry?.answer === undefined) return undefined;
      kept.delete(key);
      kept.set(key, entry);
      return entry.answer;
    },
    keeping(key, chunks) {
      if (kept.has(key)) return keepAll(key, chunks);
      put(key, { answer: undefined, size: MARK_BYTES + sizeOf(key) });
      return chunks;
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

/** What is known of a key: its answer or, where it was asked for once, nothing but that. */
interface Entry {
  readonly answer: KeptAnswer | undefined;
  size: number;
}

function sizeOf(key: string): number {
  return KEY_CHARACTER_BYTES * key.length;
}
