import { readFile } from 'node:fs/promises';
import { checkKey, checkPrefix, isFile, type Objects } from './objects.ts';

/** The objects of a program that keeps them in memory. */
export function createMemoryObjects(now: () => number = Date.now): Objects {
  const objects = new Map<string, { readonly bytes: Uint8Array; readonly tag: string; readonly modified: Date }>();
  let created = 0;

  return {
    async get(key, { range, signal } = {}) {
      checkKey(key);
      signal?.throwIfAborted();
      const found = objects.get(key);
      if (found === undefined) return undefined;
      const bytes = range === undefined ? found.bytes : found.bytes.subarray(range.start, range.end);
      return { tag: found.tag, bytes: bytes.length, chunks: chunksOf(bytes), close: async () => {} };
    },
    async stat(key, signal) {
      checkKey(key);
      signal?.throwIfAborted();
      const found = objects.get(key);
      return found && { tag: found.tag, bytes: found.bytes.length, modified: found.modified };
    },
    async create(key, body, signal) {
      checkKey(key);
      const bytes = isFile(body) ? await readFile(body.path) : Uint8Array.from(body);
      signal?.throwIfAborted();
      if (objects.has(key)) return false;
      created += 1;
      objects.set(key, { bytes, tag: String(created), modified: new Date(now()) });
      return true;
    },
    async *list(prefix, { after = '', signal } = {}) {
      checkPrefix(prefix);
      signal?.throwIfAborted();
      for (const key of [...objects.keys()].filter((one) => one.startsWith(prefix) && one > after).toSorted()) {
        signal?.throwIfAborted();
        yield key;
      }
    },
    async remove(keys, signal) {
      for (const key of keys) {
        checkKey(key);
        signal?.throwIfAborted();
        objects.delete(key);
      }
    },
  };
}

async function* chunksOf(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
