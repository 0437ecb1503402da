import { type Data, type Field, type RecordBatch, Schema } from 'apache-arrow';
import { createRecordBatch } from '../columns/create-record-batch.ts';
import { sliceData } from '../columns/slice-data.ts';
import type { FrameStream } from '../frame-stream.ts';

/** Converts a column of a batch, whose first row has this place in the stream. */
export type ConvertColumn<To extends Field> = (column: Data, target: To, firstRow: number) => Data;

/** Converts the columns that have a target, and passes on the others. */
export function convertColumns<To extends Field>(
  rows: FrameStream,
  targetOf: (from: Field) => To | undefined,
  convert: ConvertColumn<To>,
): FrameStream {
  const { fields, metadata } = rows.schema;
  const targets = fields.map(targetOf);
  if (targets.every((target) => target === undefined)) return rows;
  const schema = new Schema(
    fields.map((field, i) => targets[i] ?? field),
    metadata,
  );
  async function* batches(): AsyncGenerator<RecordBatch, void, undefined> {
    let firstRow = 0;
    for await (const batch of rows.batches) {
      const columns: readonly Data[] = batch.data.children;
      const converted = columns.map((column, i) => {
        const target = targets[i];
        return target === undefined ? column : convert(sliceData(column, 0, batch.numRows), target, firstRow);
      });
      firstRow += batch.numRows;
      yield createRecordBatch(schema, batch.numRows, converted);
    }
  }
  return { schema, batches: batches() };
}
