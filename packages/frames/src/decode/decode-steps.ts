import type { ColumnData } from '../columns/column-data.ts';
import { allocate } from './limits.ts';

/** The decoder needs more bytes. */
export interface WantsMore {
  readonly kind: 'more';
}

/** The decoder is still working on the bytes it has: a sign of progress. */
export interface IsWorking {
  readonly kind: 'working';
}

/** The decoder needs the body again, from its start. */
export interface WantsAgain {
  readonly kind: 'again';
}

/** A step of a decoder: its state, or a part of the frame. The schema is the first part. */
export type DecodeStep =
  | WantsMore
  | IsWorking
  | WantsAgain
  | { readonly kind: 'schema'; readonly message: Uint8Array }
  | ({ readonly kind: 'dictionary'; readonly id: number; readonly data: ColumnData } & Held)
  | ({ readonly kind: 'batch'; readonly rows: number; readonly columns: readonly ColumnData[] } & Held);

interface Held {
  /** The bytes taken from the budget. */
  readonly heldBytes: number;
}

/** A part of a frame. */
export type FramePart = Exclude<DecodeStep, WantsMore | IsWorking | WantsAgain>;

/** A running decoder. As a generator, it never runs ahead of its reader. */
export type DecodeSteps = Generator<DecodeStep, void, void>;

/** Requests more bytes. */
export const MORE: WantsMore = { kind: 'more' };

/** Requests another call. */
export const WORKING: IsWorking = { kind: 'working' };

/** Requests the body from its start. */
export const AGAIN: WantsAgain = { kind: 'again' };

/** Bytes that were received but not decoded yet. */
export interface ByteInput {
  /** Marks the end of the bytes. */
  end(): void;
  /** Discards all bytes: the same bytes follow again. */
  restart(): void;
  /** Whether the end was reached. */
  readonly ended: boolean;
  /** The number of bytes read. */
  readonly position: number;
  /** Returns the next chunk as received; undefined if there is none now. */
  next(): Uint8Array | undefined;
  /** Copies available bytes to `target` from `at`, and returns how many. */
  read(target: Uint8Array, at: number): number;
}

/** An input that bytes are pushed into. */
export interface PushedInput extends ByteInput {
  push(chunk: Uint8Array): void;
}

/** Creates an empty input. */
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

/** The most that is allocated before any bytes arrive: the declared length may be false. */
const FIRST_ALLOCATION = 1 << 24;

/** Reads `length` bytes into a new buffer; fewer if the input ends before. */
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
