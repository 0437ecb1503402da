import type { RecordBatch, Schema, Table } from 'apache-arrow';

/** What every read returns and every write takes: a schema, and record batches of that schema one after the other. */
export interface FrameStream {
  readonly schema: Schema;
  readonly batches: AsyncIterable<RecordBatch>;
}

/** Batches of a schema as a stream. */
export function streamOfBatches(
  schema: Schema,
  batches: Iterable<RecordBatch> | AsyncIterable<RecordBatch>,
): FrameStream {
  return {
    schema,
    batches: (async function* () {
      yield* batches;
    })(),
  };
}

/** A table of apache-arrow as a stream, to put it into a store. */
export function streamFromTable(table: Table): FrameStream {
  return streamOfBatches(table.schema, table.batches);
}
