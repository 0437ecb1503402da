import { setImmediate } from 'node:timers/promises';
import type { FrameStream } from '@svc/frames';
import { createRecordBatch } from '@svc/frames/columns';
import {
  type Data,
  type DataType,
  type Field,
  makeData,
  type RecordBatch,
  type Schema,
  vectorFromArray,
} from 'apache-arrow';

/** Builds a column from values. */
export function columnOf(field: Field<DataType>, values: readonly unknown[]): Data {
  const [data] = vectorFromArray<DataType>(values, field.type).data;
  return data ?? makeData<DataType>({ type: field.type, length: 0 });
}

/** A batch of more rows or bytes would keep the event loop. */
const BATCH_ROWS = 500;
const BATCH_BYTES = 512 * 1024;

/** Builds a table from rows of values, in small batches. The event loop runs between them. */
export function smallTable(schema: Schema, rows: Rows | AsyncIterable<Row>): FrameStream {
  async function* batches(): FrameStream['batches'] {
    let batch: Row[] = [];
    let bytes = 0;
    for await (const row of rows) {
      batch.push(row);
      for (const value of row) if (value instanceof Uint8Array) bytes += value.length;
      if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
      yield batchOf(schema, batch);
      await setImmediate();
      batch = [];
      bytes = 0;
    }
    if (batch.length > 0) yield batchOf(schema, batch);
  }
  return { schema, batches: batches() };
}

type Row = readonly unknown[];
type Rows = readonly Row[];

function batchOf(schema: Schema, rows: Rows): RecordBatch {
  const columns = schema.fields.map((field: Field<DataType>, i) =>
    columnOf(
      field,
      rows.map((row) => row[i]),
    ),
  );
  return createRecordBatch(schema, rows.length, columns);
}

/** Returns columns as a stream of one batch. */
export function streamOfColumns(schema: Schema, length: number, children: Data[]): FrameStream {
  return {
    schema,
    batches: (async function* () {
      if (length > 0) yield createRecordBatch(schema, length, children);
    })(),
  };
}
