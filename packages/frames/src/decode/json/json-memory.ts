import type { ByteBudget } from '../../byte-budget.ts';
import { type IsWorking, WORKING } from '../decode-steps.ts';
import { allocate } from '../limits.ts';

/** What the columns of a frame share: how much there may be of them. */
export interface JsonMemory {
  readonly budget: ByteBudget;
  /** How many columns there are, nested ones included. */
  columns: number;
  /** What the rows since the last cut take, or the group that becomes a batch. */
  groupBytes: number;
  /** What the budget was when somebody outside was last told of it. */
  shownBytes: number;
}

/** Nothing taken yet. */
export function createJsonMemory(budget: ByteBudget): JsonMemory {
  return { budget, columns: 0, groupBytes: 0, shownBytes: 0 };
}

/** Counts bytes of the group; before they are allocated, so that what is too much never is. */
export function takeBytes(memory: JsonMemory, bytes: number): void {
  memory.budget.take(bytes);
  memory.groupBytes += bytes;
}

/** Memory of the group. */
export function allocateCounted(memory: JsonMemory, bytes: number): Uint8Array<ArrayBuffer> {
  takeBytes(memory, bytes);
  return allocate(bytes);
}

/** A step wherever much was taken since the last one: it shows that the decoder is alive. */
export function* showProgress(memory: JsonMemory): Generator<IsWorking, void, void> {
  if (memory.budget.usedBytes - memory.shownBytes < SHOWN_BYTES) return;
  memory.shownBytes = memory.budget.usedBytes;
  yield WORKING;
}

const SHOWN_BYTES = 1 << 23;

/** An array whose length can change. */
export type Growable = Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer>;

/** The constructor of one. */
export interface GrowableType<Elements extends Growable> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer): Elements;
}

/** A copy with room for at least so many elements: twice as many, so that growing stays cheap. */
export function grown<Elements extends Growable>(
  memory: JsonMemory,
  type: GrowableType<Elements>,
  elements: Elements,
  length: number,
): Elements {
  const room = Math.max(64, length, 2 * elements.length);
  takeBytes(memory, room * type.BYTES_PER_ELEMENT - elements.byteLength);
  const larger = new type(allocate(room * type.BYTES_PER_ELEMENT).buffer);
  larger.set(elements);
  return larger;
}

/** The first so many elements in a buffer of just their size; never more than there are. */
export function trimmed<Elements extends Growable>(
  memory: JsonMemory,
  type: GrowableType<Elements>,
  elements: Elements,
  length: number,
): Elements {
  if (length >= elements.length) return elements;
  const smaller = new type(allocate(length * type.BYTES_PER_ELEMENT).buffer);
  smaller.set(elements.subarray(0, length));
  takeBytes(memory, smaller.byteLength - elements.byteLength);
  return smaller;
}
