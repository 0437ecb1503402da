import { ServiceError } from '@svc/errors';
import type { Data, Vector } from 'apache-arrow';
import { chunksOf } from '../../columns/arrow-data.ts';
import {
  allocateColumns,
  cellPieces,
  type Column,
  outOfBounds,
  type Pieces,
  type PieceWriter,
  setField,
  WINDOW_BYTES,
} from './column.ts';
import type { Kernel } from '../kernel/kernel.ts';
import { KIND, KIND_WRITTEN, VALUES } from '../kernel/kernel-layout.ts';
import { MAX_ROW_BYTES } from '../row-cursor.ts';

/** The encoded values of a dictionary. */
export interface DictionaryValues {
  readonly dictionary: Vector | undefined;
  /** Estimates the bytes of the kernel's memory that a column of indices takes. */
  loadedBytes(indices: ArrayLike<number | bigint>, from: number, to: number): number;
  /** Loads a column of indices: each encoded value is copied to the kernel's memory once. */
  load(kernel: Kernel, place: number, indices: ArrayLike<number | bigint>, from: number, to: number): void;
  /** Writes a long value. */
  pieces(index: number, writer: PieceWriter): Pieces;
}

/** The number of values encoded at a time: fewer waste calls, more are encoded in vain. */
const BLOCK_VALUES = 64;
const FIRST_BLOCK_BYTES = 64 * 1024;
/** A dictionary of at most this size is loaded without computing how many bytes are needed. */
const SMALL_BYTES = 256 * 1024;
/** The kernel gets a pointer and a length for each row. */
const PLACE_BYTES = 8;

/** Creates the values of a dictionary. Each is encoded once, when it or a neighbour is first used. */
export function createDictionaryValues(
  dictionary: Vector | undefined,
  createColumn: (data: Data) => Column,
): DictionaryValues {
  const length = dictionary?.length ?? 0;
  const parts = createParts(dictionary, createColumn);
  const isSmall =
    parts.reduce((sum, { column, end, first }) => sum + column.loadedBytes(0, end - first), 0) <= SMALL_BYTES;
  const written = createWrittenValues(length);
  const pointers = new Uint32Array(length);

  /** Encodes the block that contains a value. */
  function writeBlock(kernel: Kernel, index: number): void {
    const part = partOf(parts, index);
    if (part === undefined) return;
    const place = index - part.first;
    let from = place - (place % BLOCK_VALUES);
    let to = Math.min(from + BLOCK_VALUES, part.end - part.first);
    // Not the long neighbours of a short value.
    if (part.column.loadedBytes(from, to) > WINDOW_BYTES) [from, to] = [place, place + 1];
    writeCells(kernel, part.column, from, to, (row, bytes) => written.keep(part.first + row, bytes));
  }

  return {
    dictionary,
    loadedBytes(indices, from, to) {
      let sum = PLACE_BYTES * (to - from);
      if (isSmall) return sum;
      for (let row = from; row < to && sum <= WINDOW_BYTES; row++) {
        const index = Number(indices[row]);
        const part = partOf(parts, index);
        if (part) sum += part.column.loadedBytes(index - part.first, index - part.first + 1);
      }
      return sum;
    },
    load(kernel, place, indices, from, to) {
      const places = kernel.allocate(PLACE_BYTES * (to - from));
      const loaded: number[] = [];
      let { words } = kernel;
      let at = places >> 2;
      for (let row = from; row < to; row++) {
        const index = Number(indices[row]);
        // An invalid index is an error only if its row is written.
        const isThere = index >= 0 && index < length;
        if (isThere && pointers[index] === 0) {
          if (!written.has(index)) writeBlock(kernel, index);
          pointers[index] = kernel.put(written.bytesOf(index));
          loaded.push(index);
          ({ words } = kernel);
        }
        words[at++] = isThere ? pointers[index] : 0;
        words[at++] = isThere ? written.lengthOf(index) : 0;
      }
      for (const index of loaded) pointers[index] = 0;
      setField(kernel, place, KIND, KIND_WRITTEN);
      setField(kernel, place, VALUES, places);
    },
    pieces(index, writer) {
      const part = partOf(parts, index);
      if (part === undefined) throw outOfBounds();
      return cellPieces(part.column, index - part.first, writer);
    },
  };
}

/** One part of a dictionary: the values from `first` to `end`. */
interface Part {
  readonly first: number;
  readonly end: number;
  readonly column: Column;
}

function createParts(dictionary: Vector | undefined, createColumn: (data: Data) => Column): readonly Part[] {
  let end = 0;
  return chunksOf(dictionary).map((data) => {
    const first = end;
    end += data.length;
    return { first, end, column: createColumn(data) };
  });
}

function partOf(parts: readonly Part[], index: number): Part | undefined {
  for (const part of parts) if (index >= part.first && index < part.end) return part;
  return undefined;
}

/** The bytes of the values encoded so far. */
interface WrittenValues {
  has(index: number): boolean;
  lengthOf(index: number): number;
  bytesOf(index: number): Uint8Array;
  keep(index: number, written: Uint8Array): void;
}

/** The values are kept in parts of at most this size, unless one is longer. */
const MAX_PART_BYTES = 1024 * 1024;

function createWrittenValues(length: number): WrittenValues {
  // The part of each value, from 1, as 0 means not encoded, and the place of its bytes there.
  const places = new Uint32Array(length);
  const starts = new Uint32Array(length);
  const lengths = new Uint32Array(length);
  const parts: Uint8Array[] = [];
  let last = new Uint8Array(0);
  let end = 0;
  return {
    has: (index) => places[index] !== 0,
    lengthOf: (index) => lengths[index],
    bytesOf: (index) => parts[places[index] - 1].subarray(starts[index], starts[index] + lengths[index]),
    keep(index, written) {
      if (parts.length === 0 || end + written.length > last.length) {
        last = new Uint8Array(Math.max(written.length, Math.min(2 * last.length, MAX_PART_BYTES), 1024));
        parts.push(last);
        end = 0;
      }
      last.set(written, end);
      places[index] = parts.length;
      starts[index] = end;
      lengths[index] = written.length;
      end += written.length;
    },
  };
}

/** Encodes cells of a column one by one, in a scope of the kernel's memory. */
function writeCells(
  kernel: Kernel,
  column: Column,
  from: number,
  to: number,
  keep: (row: number, written: Uint8Array) => void,
): void {
  let room = FIRST_BLOCK_BYTES;
  for (let row = from; row < to;) {
    if (room > MAX_ROW_BYTES) throw valueTooLong();
    const next = kernel.scoped(() => {
      const place = allocateColumns(kernel, 1);
      column.load(kernel, place, row, to);
      const ends = kernel.allocate(4 * (to - row));
      const out = kernel.allocate(room);
      const written = kernel.write(place, 0, to - row, { out, bytes: room, cellBytes: column.fixedBytes, ends });
      let start = 0;
      for (let i = 0; i < written.row; i++) {
        const end = kernel.words[(ends >> 2) + i];
        keep(row + i, kernel.bytes.subarray(out + start, out + end));
        start = end;
      }
      return row + written.row;
    });
    if (next === row) room *= 4;
    row = next;
  }
}

function valueTooLong(): ServiceError {
  return new ServiceError('out_of_memory', 'A value of a dictionary can take more than 128 MiB.', {
    hint: 'Leave out the column with long values, or read the frame as Arrow.',
  });
}
