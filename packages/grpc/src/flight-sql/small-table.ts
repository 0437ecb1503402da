import type { FrameStream } from '@svc/frames';
import { createRecordBatch } from '@svc/frames/internal';
import { type Data, type DataType, type Field, makeData, type Schema, vectorFromArray } from 'apache-arrow';

/** Builds a column from values. */
export function columnOf(field: Field<DataType>, values: readonly unknown[]): Data {
  const [data] = vectorFromArray<DataType>(values, field.type).data;
  return data ?? makeData<DataType>({ type: field.type, length: 0 });
}

/** Builds a small table from rows of values. */
export function smallTable(schema: Schema, rows: readonly (readonly unknown[])[]): FrameStream {
  const columns = schema.fields.map((field: Field<DataType>, i) =>
    columnOf(
      field,
      rows.map((row) => row[i]),
    ),
  );
  return streamOfColumns(schema, rows.length, columns);
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
