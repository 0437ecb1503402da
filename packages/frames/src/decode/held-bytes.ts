import type { ByteBudget } from '../byte-budget.ts';
import { type ByteInput, MORE, type WantsMore } from './decode-steps.ts';

/** The bytes of an input from its start on, in the pieces they came in: nothing is copied to hold it, all of it is counted. */
export interface HeldBytes {
  readonly length: number;
  /** Fills the target with the bytes from a place on; it must be inside of what is held. */
  read(start: number, target: Uint8Array): void;
  /** Lets go of what is before a place. */
  dropBefore(place: number): void;
}

interface Piece {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/** Holds what was read already and the rest of the input; gives undefined where that is more than `maxBytes`. */
export function* holdBytes(
  input: ByteInput,
  first: Uint8Array,
  budget: ByteBudget,
  maxBytes = Infinity,
): Generator<WantsMore, HeldBytes | undefined, void> {
  const pieces: Piece[] = [];
  let length = 0;
  for (let bytes: Uint8Array | undefined = first; bytes !== undefined || !input.ended; bytes = input.next()) {
    if (bytes === undefined) yield MORE;
    else {
      budget.take(bytes.length);
      pieces.push({ start: length, bytes });
      length += bytes.length;
    }
    if (length > maxBytes) return undefined;
  }
  return heldBytesOf(pieces, length, budget);
}

function heldBytesOf(pieces: readonly Piece[], length: number, budget: ByteBudget): HeldBytes {
  let held: readonly Piece[] = pieces;

  /** The index of the piece that has the byte at this place. */
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
        const { start: pieceStart, bytes } = held[index];
        const from = start + filled - pieceStart;
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
