/** A cache of entries of different sizes that evicts the least recently used one first. */
export interface ByteLru<Value extends object> {
  /** The size of all entries, with their keys. */
  readonly bytes: number;
  get(key: string): Value | undefined;
  /** Adds an entry, or replaces it. */
  set(key: string, value: Value, bytes: number): void;
  /** Adds to the size of an entry; does nothing if it is no longer this value. */
  grow(key: string, value: Value, bytes: number): void;
}

/** The estimated size of an entry without its key and its own bytes. */
const OVERHEAD_BYTES = 1024;
/** Keys count too: one may name many columns while its response has no rows. */
const KEY_CHARACTER_BYTES = 2;

/** Creates a cache of at most `maxBytes`. */
export function createByteLru<Value extends object>(maxBytes: number): ByteLru<Value> {
  const entries = new Map<string, { readonly value: Value; size: number }>();
  let total = 0;

  function add(size: number): void {
    total += size;
    for (const [key, oldest] of entries) {
      if (total <= maxBytes) return;
      total -= oldest.size;
      entries.delete(key);
    }
  }

  return {
    get bytes() {
      return total;
    },
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, bytes) {
      total -= entries.get(key)?.size ?? 0;
      entries.delete(key);
      const size = bytes + KEY_CHARACTER_BYTES * key.length + OVERHEAD_BYTES;
      entries.set(key, { value, size });
      add(size);
    },
    grow(key, value, bytes) {
      const entry = entries.get(key);
      if (entry?.value !== value) return;
      entry.size += bytes;
      add(bytes);
    },
  };
}
