import type { ByteBudget } from '../../byte-budget.ts';
import { type IsWorking, WORKING } from '../decode-steps.ts';
import { allocate } from '../limits.ts';

/** The memory of the columns of a frame. */
export interface JsonMemory {
  readonly budget: ByteBudget;
  /** The number of columns, including nested ones. */
  columns: number;
  /** The bytes of the rows since the last cut, or of the group that becomes a batch. */
  groupBytes: number;
  /** The used bytes at the last progress report. */
  shownBytes: number;
}

/** Creates an empty account. */
export function createJsonMemory(budget: ByteBudget): JsonMemory {
  return { budget, columns: 0, groupBytes: 0, shownBytes: 0 };
}

/** Counts bytes of the group, before they are allocated. */
export function takeBytes(memory: JsonMemory, bytes: number): void {
  memory.budget.take(bytes);
  memory.groupBytes += bytes;
}

/** Allocates memory of the group. */
export function allocateCounted(memory: JsonMemory, bytes: number): Uint8Array<ArrayBuffer> {
  takeBytes(memory, bytes);
  return allocate(bytes);
}

/** Yields a step if much memory was taken since the last one, as a sign of progress. */
export function* showProgress(memory: JsonMemory): Generator<IsWorking, void, void> {
  if (memory.budget.usedBytes - memory.shownBytes < SHOWN_BYTES) return;
  memory.shownBytes = memory.budget.usedBytes;
  yield WORKING;
}

const SHOWN_BYTES = 1 << 23;

/** An array that can grow. */
export type Growable = Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer>;

/** The constructor of a growable array. */
export interface GrowableType<Elements extends Growable> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer): Elements;
}

/** Copies elements to an array with room for at least `length`; doubles the size, so that growth is amortized. */
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

/** Copies the first `length` elements, or all if there are fewer, to a buffer of exactly their size. */
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
