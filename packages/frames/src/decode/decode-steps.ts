import { closeSync, openSync, readSync } from 'node:fs';
import { ServiceError } from '@svc/errors';
import { type RecordBatch, type Schema, Vector } from 'apache-arrow';
import type { ByteBudget } from '../byte-budget.ts';
import type { ColumnData } from '../columns/column-data.ts';
import { dataFrom, type Dictionaries, recordBatchFrom } from '../columns/record-batch.ts';
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
interface WantsAgain {
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
  /** True if the end was reached. */
  readonly ended: boolean;
  /** The number of bytes read. */
  readonly position: number;
  /** Returns the next chunk as received; undefined if there is none now. */
  next(): Uint8Array | undefined;
  /** Copies available bytes to `target` from `at`, and returns how many. */
  read(target: Uint8Array, at: number): number;
}

/** An input that bytes are pushed into. */
interface PushedInput extends ByteInput {
  push(chunk: Uint8Array): void;
}

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

/** An input that reads a file on demand, directly into the decoder's buffers. */
export interface FileInput extends ByteInput {
  /** Makes the first `bytes` bytes of the file readable. */
  grow(bytes: number): void;
  /** Closes the file. */
  close(): void;
}

/** Smaller reads are buffered in a window of this size. */
const WINDOW_BYTES = 1 << 16;
/** The chunk size of `next`. */
const CHUNK_BYTES = 1 << 20;

/** Creates an input for a file with no readable bytes yet. */
export function createFileInput(path: string): FileInput {
  const file = openSync(path, 'r');
  let window = new Uint8Array(0);
  let windowAt = 0;
  let readable = 0;
  let position = 0;
  let ended = false;

  function readAt(place: number, target: Uint8Array): void {
    for (let filled = 0; filled < target.length;) {
      const count = readSync(file, target, filled, target.length - filled, place + filled);
      if (count === 0) {
        throw new ServiceError('invalid_data', `The file was truncated to ${place + filled} bytes while it was read.`, {
          hint: 'Do not modify the file in place: write a new one and rename it over the old.',
        });
      }
      filled += count;
    }
  }

  /** Returns the next bytes from the window, at most `length`. */
  function windowed(length: number): Uint8Array {
    const from = position - windowAt;
    if (from >= 0 && from + length <= window.length) return window.subarray(from, from + length);
    window = new Uint8Array(Math.min(WINDOW_BYTES, readable - position));
    windowAt = position;
    readAt(position, window);
    return window.subarray(0, length);
  }

  function take(target: Uint8Array): number {
    const length = Math.min(target.length, readable - position);
    if (length >= WINDOW_BYTES) readAt(position, target.subarray(0, length));
    else if (length > 0) target.set(windowed(length));
    position += length;
    return length;
  }

  return {
    grow(bytes) {
      readable = bytes;
    },
    end() {
      ended = true;
    },
    restart() {
      readable = 0;
      position = 0;
      ended = false;
    },
    get ended() {
      return ended;
    },
    get position() {
      return position;
    },
    next() {
      if (position === readable) return undefined;
      const chunk = new Uint8Array(Math.min(CHUNK_BYTES, readable - position));
      take(chunk);
      return chunk;
    },
    read: (target, at) => take(target.subarray(at)),
    close: () => closeSync(file),
  };
}

/** Transfers batches to the reader: a batch stops counting at the next step, and a dictionary when it is replaced. */
export function* transfer(steps: DecodeSteps, budget: ByteBudget): DecodeSteps {
  const dictionaries = new Map<number, number>();
  for (const step of steps) {
    yield step;
    if (step.kind === 'batch') budget.free(step.heldBytes);
    if (step.kind !== 'dictionary') continue;
    budget.free(dictionaries.get(step.id) ?? 0);
    dictionaries.set(step.id, step.heldBytes);
  }
}

/** Assembles a frame from the parts a decoder yields. */
export interface FrameAssembler {
  readonly schema: Schema;
  /** Adds a part; returns the batch if it is one. */
  add(part: FramePart): RecordBatch | undefined;
}

/** Creates an assembler of batches with this schema. */
export function createFrameAssembler(schema: Schema): FrameAssembler {
  const dictionaries: Dictionaries = new Map();
  return {
    schema,
    add(part) {
      if (part.kind === 'batch') return recordBatchFrom(schema, part.rows, part.columns, dictionaries);
      const type = part.kind === 'dictionary' ? schema.dictionaries.get(part.id) : undefined;
      if (part.kind !== 'dictionary' || type === undefined)
        throw new Error('A decoder sent an unknown part of a frame.');
      dictionaries.set(part.id, new Vector([dataFrom(type, part.data, dictionaries)]));
      return undefined;
    },
  };
}
