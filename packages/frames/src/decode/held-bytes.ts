import type { ByteBudget } from '../byte-budget.ts';
import { type ByteInput, MORE, type WantsMore } from './decode-steps.ts';

/** The bytes of an input from its start, in the chunks they arrived in: counted, but not copied. */
export interface HeldBytes {
  readonly length: number;
  /** Fills `target` with the bytes from `start`, which must be held. */
  read(start: number, target: Uint8Array): void;
  /** Releases the chunks before `place`. */
  dropBefore(place: number): void;
}

interface Chunk {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/** Buffers the bytes already read and the rest of the input; returns undefined if they exceed `maxBytes`. */
export function* holdBytes(
  input: ByteInput,
  first: Uint8Array,
  budget: ByteBudget,
  maxBytes = Infinity,
): Generator<WantsMore, HeldBytes | undefined, void> {
  const chunks: Chunk[] = [];
  let length = 0;
  for (let bytes: Uint8Array | undefined = first; bytes !== undefined || !input.ended; bytes = input.next()) {
    if (bytes === undefined) yield MORE;
    else {
      budget.take(bytes.length);
      chunks.push({ start: length, bytes });
      length += bytes.length;
    }
    if (length > maxBytes) return undefined;
  }
  return heldBytesOf(chunks, length, budget);
}

function heldBytesOf(chunks: readonly Chunk[], length: number, budget: ByteBudget): HeldBytes {
  let held: readonly Chunk[] = chunks;

  /** Returns the index of the chunk that contains the byte at `place`. */
  function indexAt(place: number): number {
    let low = 0;
    let high = held.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (held[middle].start <= place) low = middle;
      else high = middle;
    }
    return low;
  }
  return {
    length,
    read(start, target) {
      let filled = 0;
      for (let index = indexAt(start); filled < target.length; index++) {
        const { start: chunkStart, bytes } = held[index];
        const from = start + filled - chunkStart;
        const part = bytes.subarray(from, from + target.length - filled);
        target.set(part, filled);
        filled += part.length;
      }
    },
    dropBefore(place) {
      const kept = place >= length ? held.length : indexAt(place);
      for (const { bytes } of held.slice(0, kept)) budget.free(bytes.length);
      held = held.slice(kept);
    },
  };
}
