import { setBit } from '../../columns/bits.ts';
import { type JsonSegment, TAG } from './json-column.ts';
import { allocateCounted, type JsonMemory } from './json-memory.ts';

/** Returns the end of each row. A segment may have offsets only up to its last value. */
export function offsetsOf(
  memory: JsonMemory,
  known: Int32Array<ArrayBuffer> | undefined,
  rows: number,
): Int32Array<ArrayBuffer> {
  if (known?.length === rows + 1) return known;
  const offsets = new Int32Array(allocateCounted(memory, 4 * (rows + 1)).buffer);
  if (known === undefined || known.length === 0) return offsets;
  offsets.set(known);
  return offsets.fill(known[known.length - 1], known.length);
}

/** Returns 8 bytes for each row. */
export function slotsOf(memory: JsonMemory, segment: JsonSegment | undefined, rows: number): ArrayBuffer {
  if (segment?.slots.byteLength === 8 * rows) return segment.slots;
  const slots = allocateCounted(memory, 8 * rows);
  if (segment !== undefined) slots.set(new Uint8Array(segment.slots));
  return slots.buffer;
}

/** Returns which rows are not null. */
export function validityOf(memory: JsonMemory, segment: JsonSegment | undefined, rows: number) {
  const tags = segment?.tags ?? [];
  let nullCount = rows;
  for (let row = 0; row < tags.length; row++) if (tags[row] !== TAG.null) nullCount--;
  if (nullCount === 0) return { nullCount };
  return { nullCount, validity: bitsOf(memory, segment, rows, (tag) => tag !== TAG.null) };
}

/** Returns a bit for each row, set if its tag matches. */
export function bitsOf(
  memory: JsonMemory,
  segment: JsonSegment | undefined,
  rows: number,
  isMeant: (tag: number) => boolean,
): Uint8Array<ArrayBuffer> {
  const bits = allocateCounted(memory, Math.ceil(rows / 8));
  if (segment === undefined) return bits;
  const { tags } = segment;
  for (let row = 0; row < tags.length; row++) {
    if (isMeant(tags[row])) setBit(bits, row);
  }
  return bits;
}
