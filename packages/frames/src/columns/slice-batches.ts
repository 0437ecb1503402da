import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { Data, DataType, type RecordBatch, Schema } from 'apache-arrow';
import type { FrameStream } from '../streams.ts';
import type { ReadOptions } from '../store.ts';
import { sliceBits } from './column-data.ts';
import { createRecordBatch, offsetsOf, valueBytes, valuesOf } from './record-batch.ts';

/** A selection of columns, in order. */
export interface SelectedColumns {
  readonly schema: Schema;
  /** The positions in the original schema; undefined if all columns are selected in order. */
  readonly indices: readonly number[] | undefined;
}

/** A selection of rows and columns. */
interface Slice extends SelectedColumns {
  readonly offset: number;
  readonly limit: number;
  readonly signal: AbortSignal | undefined;
}

/** Finds columns by name; an unknown one is `invalid_argument`. */
export function selectColumns(schema: Schema, names: readonly string[] | undefined): SelectedColumns {
  if (names === undefined) return { schema, indices: undefined };
  const places = new Map(schema.fields.map((field, index) => [field.name, index]));
  const indices = names.map((name) => {
    const index = places.get(name);
    if (index === undefined) {
      const known = schema.fields.slice(0, 20).map((field) => quoted(field.name));
      throw new ServiceError('invalid_argument', `There is no column ${quoted(name)}.`, {
        hint: `The columns are: ${known.join(', ')}${schema.fields.length > known.length ? ', …' : ''}.`,
      });
    }
    return index;
  });
  return {
    schema: new Schema(
      indices.map((index) => schema.fields[index]),
      schema.metadata,
    ),
    indices,
  };
}

/** Returns a part of a stream, with the semantics of `OpenFrame.read`. */
export function sliceStream(
  { schema, batches }: FrameStream,
  { offset = 0, limit = Infinity, columns, signal }: ReadOptions,
): FrameStream {
  const selected = selectColumns(schema, columns);
  return { schema: selected.schema, batches: sliceBatches(batches, { ...selected, offset, limit, signal }) };
}

/** Yields at most `limit` rows from `offset`, without copying values. */
export async function* sliceBatches(
  batches: Iterable<RecordBatch> | AsyncIterable<RecordBatch>,
  slice: Slice,
): AsyncGenerator<RecordBatch> {
  let skip = slice.offset;
  let left = slice.limit;
  if (left <= 0) return;
  /** Returns the selected part of the next batch, if any. */
  function cut(batch: RecordBatch): RecordBatch | undefined {
    slice.signal?.throwIfAborted();
    if (skip >= batch.numRows) {
      skip -= batch.numRows;
      return undefined;
    }
    const length = Math.min(batch.numRows - skip, left);
    const part = sliceBatch(batch, skip, length, slice);
    left -= length;
    skip = 0;
    return part;
  }
  if (Symbol.iterator in batches) {
    // No await per batch: the rows may be in the last of many.
    for (const batch of batches) {
      const part = cut(batch);
      if (part) yield part;
      if (left <= 0) return;
    }
    return;
  }
  for await (const batch of batches) {
    const part = cut(batch);
    if (part) yield part;
    if (left <= 0) return;
  }
}

function sliceBatch(
  batch: RecordBatch,
  offset: number,
  length: number,
  { schema, indices }: SelectedColumns,
): RecordBatch {
  if (length === batch.numRows && indices === undefined) return batch;
  const all: readonly Data[] = batch.data.children;
  const wanted = indices ? indices.map((index) => all[index]) : all;
  const children = length === batch.numRows ? [...wanted] : wanted.map((data) => sliceData(data, offset, length));
  return createRecordBatch(schema, length, children);
}

/**
 * Returns a range of rows of a column. Values are not copied; bits are if the range is not aligned to a byte, and so
 * are the offsets of lists. Thus every slice starts at row 0 and its lists at item 0: apache-arrow misreads view and
 * null columns with another offset.
 */
export function sliceData(data: Data, start: number, length: number): Data {
  const { type, dictionary, variadicBuffers } = data;
  if (DataType.isNull(type)) return new Data(type, 0, length, length);
  // Frames have no unions. The small metadata tables that have one are sent whole.
  if (DataType.isUnion(type)) return data.slice(start, length);
  const hasNulls = data.nullCount > 0;
  const isWhole = length === data.length;
  const validity = hasNulls ? sliceBits(data.nullBitmap, data.offset + start, length) : new Uint8Array(0);
  const { offsets, children } = sliceChildren(data, start, length);
  return new Data(
    type,
    0,
    length,
    isWhole ? data.nullCount : hasNulls ? -1 : 0,
    [offsets, sliceValues(data, start, length), validity],
    children,
    dictionary,
    variadicBuffers,
  );
}

/** Text is addressed by offsets, so its bytes stay unchanged. */
function sliceValues(data: Data, start: number, length: number): Data['values'] {
  const { type, stride } = data;
  if (data.values === undefined || data.valueOffsets !== undefined) return data.values;
  if (DataType.isBool(type)) return sliceBits(valueBytes(data), data.offset + start, length);
  return valuesOf(data).subarray(stride * start, stride * (start + length));
}

type Offsets = Int32Array | BigInt64Array;

function sliceChildren(data: Data, start: number, length: number): { offsets?: Offsets; children: Data[] } {
  const { type, children, stride } = data;
  if (data.valueOffsets === undefined) {
    const perRow = DataType.isFixedSizeList(type) ? stride : 1;
    return { children: children.map((child) => sliceData(child, perRow * start, perRow * length)) };
  }
  const offsets = offsetsOf(data).subarray(start, start + length + 1);
  if (children.length === 0) return { offsets, children: [] };
  const first = Number(offsets[0]);
  const items = Number(offsets[length]) - first;
  return { offsets: rebased(offsets), children: children.map((child) => sliceData(child, first, items)) };
}

function rebased(offsets: Offsets): Offsets {
  if (offsets instanceof Int32Array) {
    const [first] = offsets;
    return first === 0 ? offsets : offsets.map((offset) => offset - first);
  }
  const [first] = offsets;
  return first === 0n ? offsets : offsets.map((offset) => offset - first);
}
