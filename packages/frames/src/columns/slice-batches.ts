import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { type Data, type RecordBatch, Schema } from 'apache-arrow';
import type { FrameStream } from '../frame-stream.ts';
import type { ReadOptions } from '../store.ts';
import { createRecordBatch } from './create-record-batch.ts';
import { sliceData } from './slice-data.ts';

/** A selection of columns, in order. */
export interface SelectedColumns {
  readonly schema: Schema;
  /** The positions in the original schema; undefined if all columns are selected in order. */
  readonly indices: readonly number[] | undefined;
}

/** A selection of rows and columns. */
export interface Slice extends SelectedColumns {
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
  if (slice.limit <= 0) return;
  const cut = createCutter(slice);
  if (Symbol.iterator in batches) {
    // No await per batch: the rows may be in the last of many.
    for (const batch of batches) {
      const part = cut.next(batch);
      if (part) yield part;
      if (cut.isDone()) return;
    }
    return;
  }
  for await (const batch of batches) {
    const part = cut.next(batch);
    if (part) yield part;
    if (cut.isDone()) return;
  }
}

/** Slices consecutive batches. */
interface Cutter {
  /** Returns the selected part of the next batch, if any. */
  next(batch: RecordBatch): RecordBatch | undefined;
  /** Whether later batches have no selected rows. */
  isDone(): boolean;
}

function createCutter(slice: Slice): Cutter {
  let skip = slice.offset;
  let left = slice.limit;
  return {
    next(batch) {
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
    },
    isDone: () => left <= 0,
  };
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
