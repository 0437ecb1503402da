import type { ColumnData } from '../columns/column-data.ts';
import { allocate } from './limits.ts';

/** A decoder wants more bytes. */
export interface WantsMore {
  readonly kind: 'more';
}

/** A decoder is not done with the bytes it has, but shows that it is alive. */
export interface IsWorking {
  readonly kind: 'working';
}

/** A decoder wants the body once more, from its start. */
export interface WantsAgain {
  readonly kind: 'again';
}

/** What a decoder yields: how it fares, or a piece of the frame. The schema is the first piece. */
export type DecodeStep =
  | WantsMore
  | IsWorking
  | WantsAgain
  | { readonly kind: 'schema'; readonly message: Uint8Array }
  | ({ readonly kind: 'dictionary'; readonly id: number; readonly data: ColumnData } & Held)
  | ({ readonly kind: 'batch'; readonly rows: number; readonly columns: readonly ColumnData[] } & Held);

interface Held {
  /** What it takes of the budget. */
  readonly heldBytes: number;
}

/** A piece of a frame. */
export type FramePiece = Exclude<DecodeStep, WantsMore | IsWorking | WantsAgain>;

/** A decoder at work. It runs only while it is asked for its next step, so it never runs ahead of its reader. */
export type DecodeSteps = Generator<DecodeStep, void, void>;

/** Asks for more bytes. */
export const MORE: WantsMore = { kind: 'more' };

/** Asks to be asked again. */
export const WORKING: IsWorking = { kind: 'working' };

/** Asks for the body from its start. */
export const AGAIN: WantsAgain = { kind: 'again' };

/** The bytes that have come in and are not decoded yet. */
export interface ByteInput {
  /** No more bytes will come. */
  end(): void;
  /** Forgets everything: the same bytes come once more. */
  restart(): void;
  /** True once no more bytes will come. */
  readonly ended: boolean;
  /** How many bytes were read so far. */
  readonly position: number;
  /** The next bytes, as they came in; undefined where there are none now. */
  next(): Uint8Array | undefined;
  /** Copies bytes to the target from `at` on, as far as there are any and they fit, and says how many. */
  read(target: Uint8Array, at: number): number;
}

/** An input that is given its bytes. */
export interface PushedInput extends ByteInput {
  push(chunk: Uint8Array): void;
}

/** An input that holds nothing yet. */
export function createByteInput(): PushedInput {
  const chunks: Uint8Array[] = [];
  let ended = false;
  let position = 0;
  return {
    push(chunk) {
      if (chunk.length > 0) chunks.push(chunk);
    },
    end() {
      ended = true;
    },
    restart() {
      chunks.length = 0;
      ended = false;
      position = 0;
    },
    get ended() {
      return ended;
    },
    get position() {
      return position;
    },
    next() {
      const chunk = chunks.shift();
      position += chunk?.length ?? 0;
      return chunk;
    },
    read(target, at) {
      let filled = at;
      while (filled < target.length && chunks.length > 0) {
        const [chunk] = chunks;
        const part = chunk.subarray(0, target.length - filled);
        target.set(part, filled);
        filled += part.length;
        if (part.length === chunk.length) chunks.shift();
        else chunks[0] = chunk.subarray(part.length);
      }
      position += filled - at;
      return filled - at;
    },
  };
}

/** What is allocated for a part before any of its bytes came: its length may be a lie. */
const FIRST_ALLOCATION = 1 << 24;

/** So many bytes in a buffer of their own; fewer where the input ends before. */
export function* readBytes(input: ByteInput, length: number): Generator<WantsMore, Uint8Array<ArrayBuffer>, void> {
  let bytes = allocate(Math.min(length, FIRST_ALLOCATION));
  let filled = 0;
  while (filled < length) {
    if (filled === bytes.length) {
      const larger = allocate(Math.min(length, 2 * filled));
      larger.set(bytes);
      bytes = larger;
    }
    const count = input.read(bytes, filled);
    filled += count;
    if (count === 0) {
      if (input.ended) return bytes.subarray(0, filled);
      yield MORE;
    }
  }
  return bytes;
}
