import type { FrameStream } from '@svc/frames';
import {
  type Data,
  type DataType,
  type Field,
  makeData,
  RecordBatch,
  type Schema,
  Struct,
  vectorFromArray,
} from 'apache-arrow';

/** A column that is made of values. */
export function columnOf(field: Field<DataType>, values: readonly unknown[]): Data {
  const [data] = vectorFromArray<DataType>(values, field.type).data;
  return data ?? makeData<DataType>({ type: field.type, length: 0 });
}

/** A table that is small enough to be made at once, from rows of values. */
export function smallTable(schema: Schema, rows: readonly (readonly unknown[])[]): FrameStream {
  const columns = schema.fields.map((field: Field<DataType>, i) =>
    columnOf(
      field,
      rows.map((row) => row[i]),
    ),
  );
  return streamOfColumns(schema, rows.length, columns);
}

/** Columns that are there as one batch. */
export function streamOfColumns(schema: Schema, length: number, children: Data[]): FrameStream {
  const data = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children });
  return {
    schema,
    batches: (async function* () {
      if (length > 0) yield new RecordBatch(schema, data);
    })(),
  };
}
