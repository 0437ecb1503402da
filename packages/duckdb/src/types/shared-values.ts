import { ServiceError } from '@svc/errors';
import { createYield } from '@svc/frames/async';
import { chunksOf, offsetsOf, valueBytes, valuesOf } from '@svc/frames/columns';
import { type Data, DataType, type RecordBatch, type Vector } from 'apache-arrow';
import { BATCH_ROWS } from '../wire/messages.ts';

/**
 * Rows may share values: those of a dictionary, and those of string views. A file has a value for each row, so
 * a few bytes can become any number of them.
 */
export interface SharedValueLimit {
  /** Counts the shared values of a batch; more than the limit in all batches are `payload_too_large`. */
  admit(batch: RecordBatch): Promise<void>;
}

/** Dictionaries whose values have at most this length are not counted: they repay what their rows cost. */
const SHORT_VALUE = 128;
/** How many values are measured before others get a turn. */
const STEP_VALUES = 1 << 18;

/** Creates a limit for the batches of one upload. */
export function createSharedValueLimit(maxBytes: number): SharedValueLimit {
  let bytes = 0;
  const pause = createYield();
  return {
    async admit({ data, numRows }) {
      for (const column of data.children) {
        for (const dictionary of dictionariesOf(column)) {
          for (const _ of measured(dictionary)) await pause();
        }
        if (!hasLongValues(column)) continue;
        bytes -= viewedBytes(column);
        let added = 0;
        for (let start = 0; start < numRows; start += BATCH_ROWS) {
          added += sharedBytes(column, start, Math.min(BATCH_ROWS, numRows - start));
          if (bytes + added > maxBytes) throw tooLarge(maxBytes);
          await pause();
        }
        bytes = Math.max(0, bytes + added);
      }
    },
  };
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `The frame takes more than ${maxBytes} bytes when each row has its own copy of its values.`,
    { hint: 'Send shorter values in dictionaries, or fewer rows. Or raise storage.max_conversion_bytes.' },
  );
}

/** The bytes of the shared values of some rows, each counted as often as it is used. At most, if all are short. */
export function sharedBytes(data: Data, start: number, rows: number): number {
  const { type, children } = data;
  if (DataType.isDictionary(type)) return dictionaryBytes(data, start, rows);
  if (isViews(type)) return viewBytes(data, start, rows);
  if (children.length === 0) return 0;
  let [first, count] = [start, rows];
  if (data.valueOffsets !== undefined) {
    const offsets = offsetsOf(data);
    first = Number(offsets[start] ?? 0);
    count = Number(offsets[start + rows] ?? 0) - first;
  } else if (DataType.isFixedSizeList(type)) {
    first *= type.listSize;
    count *= type.listSize;
  }
  return children.reduce((sum, child) => sum + sharedBytes(child, first, count), 0);
}

function isViews(type: DataType): boolean {
  return DataType.isUtf8View(type) || DataType.isBinaryView(type);
}

function dictionaryBytes(data: Data, start: number, rows: number): number {
  const { longest, lengths } = lengthsOf(data.dictionary);
  if (longest <= SHORT_VALUE || lengths === undefined) return rows * longest;
  const indices = valuesOf(data);
  const isNull = nullsOf(data);
  let bytes = 0;
  for (let row = start; row < start + rows; row++) if (!isNull(row)) bytes += lengths[Number(indices[row])] ?? 0;
  return bytes;
}

function viewBytes(data: Data, start: number, rows: number): number {
  const { buffer, byteOffset, byteLength } = valueBytes(data);
  const words = new DataView(buffer, byteOffset, byteLength);
  const isNull = nullsOf(data);
  let bytes = 0;
  for (let row = start; row < start + rows; row++) if (!isNull(row)) bytes += words.getUint32(16 * row, true);
  return bytes;
}

function nullsOf({ nullCount, nullBitmap, offset }: Data): (row: number) => boolean {
  if (nullCount === 0) return () => false;
  return (row) => (((nullBitmap[(offset + row) >> 3] ?? 0) >> ((offset + row) & 7)) & 1) === 0;
}

/** The bytes of the values behind views. */
function viewedBytes({ variadicBuffers, children }: Data): number {
  const own = variadicBuffers.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return children.reduce((sum, child) => sum + viewedBytes(child), own);
}

function hasLongValues({ type, dictionary, children }: Data): boolean {
  if (DataType.isDictionary(type)) return lengthsOf(dictionary).longest > SHORT_VALUE;
  return isViews(type) || children.some(hasLongValues);
}

function dictionariesOf({ dictionary, children }: Data): Vector[] {
  return [...(dictionary === undefined ? [] : [dictionary]), ...children.flatMap(dictionariesOf)];
}

/** The lengths of the values of a dictionary, in bytes. */
interface ValueLengths {
  readonly longest: number;
  /** Undefined if all have the same length. */
  readonly lengths: Uint32Array | undefined;
}

const known = new WeakMap<Vector, ValueLengths>();
const NO_VALUES: ValueLengths = { longest: 0, lengths: undefined };

function lengthsOf(dictionary: Vector | undefined): ValueLengths {
  if (dictionary === undefined) return NO_VALUES;
  for (const _ of measured(dictionary));
  return known.get(dictionary) ?? NO_VALUES;
}

/** Measures the values of a dictionary once, in steps. */
function* measured(dictionary: Vector): Generator<void, void, undefined> {
  if (known.has(dictionary)) return;
  const parts = chunksOf(dictionary);
  const isFixed = parts.every((part) => part.valueOffsets === undefined && !isViews(part.type));
  const lengths = new Uint32Array(isFixed ? 0 : dictionary.length);
  let longest = isFixed ? Math.max(0, ...parts.map(widthOf)) : 0;
  let at = 0;
  for (const part of isFixed ? [] : parts) {
    const lengthAt = lengthIn(part);
    for (let row = 0; row < part.length; row++) {
      const length = lengthAt(row);
      lengths[at++] = length;
      if (length > longest) longest = length;
      if (at % STEP_VALUES === 0) yield;
    }
  }
  known.set(dictionary, { longest, lengths: isFixed ? undefined : lengths });
}

function widthOf(data: Data): number {
  return data.values === undefined ? 0 : data.stride * valuesOf(data).BYTES_PER_ELEMENT;
}

function lengthIn(data: Data): (row: number) => number {
  if (isViews(data.type)) return (row) => viewBytes(data, row, 1);
  const offsets = offsetsOf(data);
  return (row) => Number(offsets[row + 1] ?? 0) - Number(offsets[row] ?? 0);
}
