import { quoted, ServiceError } from '@svc/errors';
import { type Data, type RecordBatch, Schema } from 'apache-arrow';
import type { FrameStream } from './frame-stream.ts';
import type { ReadOptions } from './store.ts';
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
  let skip = slice.offset;
  let left = slice.limit;
  if (left <= 0) return;
  for await (const batch of batches) {
    slice.signal?.throwIfAborted();
    if (skip >= batch.numRows) {
      skip -= batch.numRows;
      continue;
    }
    const length = Math.min(batch.numRows - skip, left);
    yield sliceBatch(batch, skip, length, slice);
    left -= length;
    if (left <= 0) return;
    skip = 0;
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
