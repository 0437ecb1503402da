import type { RecordBatch, Schema } from 'apache-arrow';

/** A schema and a sequence of record batches of that schema: every read returns one, every write takes one. */
export interface FrameStream {
  readonly schema: Schema;
  readonly batches: AsyncIterable<RecordBatch>;
}

/** Creates a stream from a schema and batches. */
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

/** Calls a function with every batch of a stream, before it is passed on. */
export function onEachBatch({ schema, batches }: FrameStream, onBatch: (batch: RecordBatch) => void): FrameStream {
  async function* observed(): FrameStream['batches'] {
    for await (const batch of batches) {
      onBatch(batch);
      yield batch;
    }
  }
  return { schema, batches: observed() };
}
