import { randomInt } from 'node:crypto';
import type { ByteBudget } from '../../byte-budget.ts';
import { allocateCounted } from '../limits.ts';

/** The distinct texts of a column, each with its index: a hash table over bytes, without a string for each cell. */
export interface SymbolSet {
  count: number;
  /** The bytes of all texts; text `i` ends at `offsets[i + 1]`. */
  text: Uint8Array<ArrayBuffer>;
  offsets: Int32Array<ArrayBuffer>;
  /** Indices by hash, plus one; 0 is free. The length is a power of two, and at least twice the count. */
  buckets: Int32Array<ArrayBuffer>;
  /** The text that was found last: neighbouring rows often have the same. */
  last: number;
}

/** Creates an empty set. */
export function createSymbolSet(budget: ByteBudget): SymbolSet {
  return {
    count: 0,
    text: allocateCounted(budget, 256),
    offsets: new Int32Array(allocateCounted(budget, 4 * 17).buffer),
    buckets: new Int32Array(allocateCounted(budget, 4 * 32).buffer),
    last: -1,
  };
}

/** Returns the index of a text, which is added if it is new. */
export function symbolIndex(set: SymbolSet, bytes: Uint8Array, start: number, end: number, budget: ByteBudget): number {
  if (set.last >= 0 && isText(set, set.last, bytes, start, end)) return set.last;
  const mask = set.buckets.length - 1;
  let bucket = hashOf(bytes, start, end) & mask;
  for (let entry = set.buckets[bucket]; entry !== 0; entry = set.buckets[bucket]) {
    if (isText(set, entry - 1, bytes, start, end)) return (set.last = entry - 1);
    bucket = (bucket + 1) & mask;
  }
  set.buckets[bucket] = set.count + 1;
  addText(set, bytes, start, end, budget);
  return (set.last = set.count - 1);
}

function isText({ text, offsets }: SymbolSet, index: number, bytes: Uint8Array, start: number, end: number): boolean {
  const first = offsets[index];
  if (offsets[index + 1] - first !== end - start) return false;
  for (let i = end - start - 1; i >= 0; i--) if (text[first + i] !== bytes[start + i]) return false;
  return true;
}

/** Differs in each process, so that a client cannot choose texts that collide. */
const SEED = randomInt(2 ** 31);

/** FNV-1a. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = SEED;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at], 0x01000193);
  return hash ^ (hash >>> 15);
}

function addText(set: SymbolSet, bytes: Uint8Array, start: number, end: number, budget: ByteBudget): void {
  const from = set.offsets[set.count];
  const to = from + end - start;
  if (to > set.text.length) {
    const text = allocateCounted(budget, 2 * to);
    text.set(set.text.subarray(0, from));
    budget.free(set.text.length);
    set.text = text;
  }
  for (let at = start; at < end; at++) set.text[from + at - start] = bytes[at];
  set.count++;
  if (set.count >= set.offsets.length) {
    const offsets = new Int32Array(allocateCounted(budget, 8 * set.offsets.length).buffer);
    offsets.set(set.offsets);
    budget.free(set.offsets.byteLength);
    set.offsets = offsets;
  }
  set.offsets[set.count] = to;
  if (2 * set.count > set.buckets.length) rehash(set, budget);
}

function rehash(set: SymbolSet, budget: ByteBudget): void {
  const buckets = new Int32Array(allocateCounted(budget, 8 * set.buckets.length).buffer);
  const mask = buckets.length - 1;
  for (let i = 0; i < set.count; i++) {
    let bucket = hashOf(set.text, set.offsets[i], set.offsets[i + 1]) & mask;
    while (buckets[bucket] !== 0) bucket = (bucket + 1) & mask;
    buckets[bucket] = i + 1;
  }
  budget.free(set.buckets.byteLength);
  set.buckets = buckets;
}
