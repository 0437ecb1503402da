import { type Data, DataType } from 'apache-arrow';
import { offsetsOf, valueBytes } from '../../columns/arrow-data.ts';
import { INLINE_BYTES, inlineStart, viewLength, viewPart, viewStart, viewWords } from '../../columns/views.ts';
import { type Column, setField } from './column.ts';
import type { Kernel } from '../kernel/kernel.ts';
import {
  IS_CSV,
  KIND,
  KIND_BINARY,
  KIND_CSV_TEXT,
  KIND_JSON_TEXT,
  OFFSET_BASE,
  OFFSETS,
  STRIDE,
  VALUES,
  VALUES_END,
} from '../kernel/kernel-layout.ts';

/**
 * Creates a column of texts as JSON strings or CSV fields, or of binary as base64 without quotes; undefined for other
 * types.
 */
export function createTextColumn(data: Data, isCsv: boolean): Column | undefined {
  const { type } = data;
  const textKind = isCsv ? KIND_CSV_TEXT : KIND_JSON_TEXT;
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return rangesColumn(data, textKind, isCsv);
  if (DataType.isBinary(type) || DataType.isLargeBinary(type)) return rangesColumn(data, KIND_BINARY, isCsv);
  if (DataType.isUtf8View(type)) return viewsColumn(data, textKind, isCsv);
  if (DataType.isBinaryView(type)) return viewsColumn(data, KIND_BINARY, isCsv);
  return DataType.isFixedSizeBinary(type) ? fixedColumn(data, type.byteWidth, isCsv) : undefined;
}

/** The offsets of the rows in their shared values. */
export interface Offsets {
  at(row: number): number;
  /** Copies the offsets of these rows, and the end, to the kernel's memory and the descriptor. */
  load(kernel: Kernel, place: number, from: number, to: number): void;
  /** The bytes of one offset. */
  readonly width: number;
}

/**
 * Creates the offsets of texts and lists. The kernel uses only the lower 32 bits of 64-bit offsets, which suffice for a
 * window.
 */
export function createOffsets(offsets: Int32Array | BigInt64Array): Offsets {
  const width = offsets.BYTES_PER_ELEMENT;
  const bytes = new Uint8Array(offsets.buffer, offsets.byteOffset, offsets.byteLength);
  const at = (row: number): number => Number(offsets[row] ?? 0);
  return {
    at,
    width,
    load: (kernel, place, from, to) => {
      const size = width * (to + 1 - from);
      setField(kernel, place, OFFSETS, kernel.put(bytes.subarray(width * from, width * from + size), size));
      setField(kernel, place, OFFSET_BASE, at(from) | 0);
      setField(kernel, place, STRIDE, width);
    },
  };
}

/** In addition to the bytes: two quotes. */
const QUOTE_BYTES = 2;

function rangesColumn(data: Data, kind: number, isCsv: boolean): Column {
  const bytes = valueBytes(data);
  const offsets = createOffsets(offsetsOf(data));
  return {
    fixedBytes: QUOTE_BYTES,
    loadedBytes: (from, to) => Math.max(0, offsets.at(to) - offsets.at(from)) + offsets.width * (to - from),
    load: (kernel, place, from, to) => {
      offsets.load(kernel, place, from, to);
      loadBytes(kernel, place, bytes.subarray(offsets.at(from), offsets.at(to)));
      setKind(kernel, place, kind, isCsv);
    },
  };
}

function loadBytes(kernel: Kernel, place: number, bytes: Uint8Array): void {
  const pointer = kernel.put(bytes);
  setField(kernel, place, VALUES, pointer);
  setField(kernel, place, VALUES_END, pointer + bytes.length);
}

function setKind(kernel: Kernel, place: number, kind: number, isCsv: boolean): void {
  setField(kernel, place, KIND, kind);
  setField(kernel, place, IS_CSV, isCsv ? 1 : 0);
}

function fixedColumn(data: Data, width: number, isCsv: boolean): Column {
  const bytes = valueBytes(data);
  return {
    fixedBytes: QUOTE_BYTES,
    loadedBytes: (from, to) => (width + 1) * (to - from),
    load: (kernel, place, from, to) => {
      setKind(kernel, place, KIND_BINARY, isCsv);
      setField(kernel, place, STRIDE, width);
      setField(kernel, place, VALUES, kernel.put(bytes.subarray(width * from, width * to), width * (to - from)));
    },
  };
}

const OFFSET_BYTES = 4;

/** Creates a column of views. Their bytes are gathered, so that the kernel sees plain offsets. */
function viewsColumn(data: Data, kind: number, isCsv: boolean): Column {
  const views = valueBytes(data);
  const words = viewWords(views);
  const hasNulls = data.nullCount > 0;
  // The view of a null row can be anything.
  const lengthOf = (row: number): number => (hasNulls && !data.getValid(row) ? 0 : Math.max(0, viewLength(words, row)));
  const totalLength = (from: number, to: number): number => {
    let bytes = 0;
    for (let row = from; row < to; row++) bytes += lengthOf(row);
    return bytes;
  };

  function bytesOf(row: number, length: number): Uint8Array {
    if (length <= INLINE_BYTES) return views.subarray(inlineStart(row), inlineStart(row) + length);
    const buffer = data.variadicBuffers[viewPart(words, row)];
    const start = viewStart(words, row);
    if (buffer === undefined || start < 0 || start + length > buffer.length) {
      throw new RangeError('A view points outside its buffers.');
    }
    return buffer.subarray(start, start + length);
  }

  return {
    fixedBytes: QUOTE_BYTES,
    loadedBytes: (from, to) => totalLength(from, to) + OFFSET_BYTES * (to - from),
    load: (kernel, place, from, to) => {
      const end = totalLength(from, to);
      const pointer = kernel.allocate(end);
      const offsets = kernel.allocate(OFFSET_BYTES * (to + 1 - from));
      const { bytes, words: kernelWords } = kernel;
      let at = 0;
      for (let row = from; row < to; row++) {
        kernelWords[(offsets >> 2) + row - from] = at;
        const length = lengthOf(row);
        bytes.set(bytesOf(row, length), pointer + at);
        at += length;
      }
      kernelWords[(offsets >> 2) + to - from] = end;
      setKind(kernel, place, kind, isCsv);
      setField(kernel, place, OFFSETS, offsets);
      setField(kernel, place, STRIDE, OFFSET_BYTES);
      setField(kernel, place, VALUES, pointer);
      setField(kernel, place, VALUES_END, pointer + end);
    },
  };
}
