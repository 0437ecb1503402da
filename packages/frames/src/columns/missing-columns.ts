import { type Data, Field, makeData, type RecordBatch, Schema, Utf8 } from 'apache-arrow';
import { createRecordBatch } from './create-record-batch.ts';
import type { FrameStream } from '../frame-stream.ts';

/** Adds a column of nulls for each nullable column of the frame that the rows do not have. */
export function withMissingColumns(frame: Schema, rows: FrameStream): FrameStream {
  const known = new Set(rows.schema.fields.map(({ name }) => name));
  // As text: a text column with only nulls converts to any type.
  const missing = frame.fields.flatMap(({ name, nullable }) =>
    nullable && !known.has(name) ? [new Field(name, new Utf8(), true)] : [],
  );
  if (missing.length === 0) return rows;
  const schema = new Schema([...rows.schema.fields, ...missing], rows.schema.metadata);
  async function* batches(): AsyncGenerator<RecordBatch> {
    for await (const batch of rows.batches) {
      const children = [...batch.data.children, ...missing.map(() => nullTexts(batch.numRows))];
      yield createRecordBatch(schema, batch.numRows, children);
    }
  }
  return { schema, batches: batches() };
}

function nullTexts(length: number): Data {
  return makeData({
    type: new Utf8(),
    length,
    nullCount: length,
    nullBitmap: new Uint8Array(Math.ceil(length / 8)),
    valueOffsets: new Int32Array(length + 1),
    data: new Uint8Array(0),
  });
}
