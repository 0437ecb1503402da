/** Remembers recently added keys, approximately. */
export interface SeenKeys {
  /** Adds a key. Returns whether it was already there. */
  add(key: string): boolean;
}

/** The size of the table. */
const HASHES = 16_384;

/**
 * Creates a fixed table of key hashes: it needs no memory per key, and a collision merely caches a response too early or
 * too late.
 */
export function createSeenKeys(): SeenKeys {
  const hashes = new Int32Array(HASHES);
  return {
    add(key) {
      let hash = 0;
      for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0;
      const slot = (hash ^ (hash >>> 16)) & (HASHES - 1);
      const isThere = hashes[slot] === hash;
      hashes[slot] = hash;
      return isThere;
    },
  };
}
