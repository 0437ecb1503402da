/** Remembers recently added keys, approximately. */
export interface SeenKeys {
  /** Adds a key. Returns how often it was added before, up to 255. */
  add(key: string): number;
}

/** The size of the table. */
const HASHES = 16_384;

/**
 * Creates a fixed table of key hashes: it needs no memory per key, and a collision merely caches a response too early or
 * too late.
 */
export function createSeenKeys(): SeenKeys {
  const hashes = new Int32Array(HASHES);
  const counts = new Uint8ClampedArray(HASHES);
  return {
    add(key) {
      let hash = 0;
      for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0;
      const slot = (hash ^ (hash >>> 16)) & (HASHES - 1);
      const before = hashes[slot] === hash ? (counts[slot] ?? 0) : 0;
      hashes[slot] = hash;
      counts[slot] = before + 1;
      return before;
    },
  };
}
