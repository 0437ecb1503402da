import { quoted, ServiceError } from '@svc/errors';
import { type Data, type RecordBatch, Schema } from 'apache-arrow';
import type { FrameStream } from '../frame-stream.ts';
import type { ReadOptions } from '../store.ts';
import { createRecordBatch } from './create-record-batch.ts';
import { sliceData } from './slice-data.ts';

/** The named columns of a schema, in that order, and where they are in it. */
export interface SelectedColumns {
  readonly schema: Schema;
  /** Undefined where all columns are wanted as they are. */
  readonly indices: readonly number[] | undefined;
}

/** Which rows and columns of some batches. */
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

/** A part of a stream, as `OpenFrame.read` gives it of a frame. */
export function sliceStream(
  { schema, batches }: FrameStream,
  { offset = 0, limit = Infinity, columns, signal }: ReadOptions,
): FrameStream {
  const selected = selectColumns(schema, columns);
  return { schema: selected.schema, batches: sliceBatches(batches, { ...selected, offset, limit, signal }) };
}

/** The rows from `offset` on, `limit` at the most, of some batches; values are not copied. */
export async function* sliceBatches(
  batches: Iterable<RecordBatch> | AsyncIterable<RecordBatch>,
  slice: Slice,
): AsyncGenerator<RecordBatch> {
  if (slice.limit <= 0) return;
  const cut = createCutter(slice);
  if (Symbol.iterator in batches) {
    // Without waiting for each: the rows may be in the last of many.
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

/** Goes through batches one after the other. */
interface Cutter {
  /** What is wanted of the next batch, if anything. */
  next(batch: RecordBatch): RecordBatch | undefined;
  /** Whether nothing of the batches that follow is wanted. */
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
