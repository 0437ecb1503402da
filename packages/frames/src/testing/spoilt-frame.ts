import { RecordBatch, RecordBatchStreamWriter, type Schema, Table, tableFromIPC } from 'apache-arrow';
import type { FrameStream } from '../frame-stream.ts';

/** A frame that is read with `reuseBuffers`: each batch is overwritten on the next `next()`. */
export function spoiltFrame({ schema, batches }: FrameStream): FrameStream {
  return { schema, batches: spoiltBatches(schema, batches) };
}

async function* spoiltBatches(schema: Schema, batches: AsyncIterable<RecordBatch>): AsyncGenerator<RecordBatch> {
  for await (const batch of batches) {
    const bytes = RecordBatchStreamWriter.writeAll(new Table([batch])).toUint8Array(true);
    for (const own of tableFromIPC(bytes).batches) {
      yield new RecordBatch(schema, own.data);
    }
    bytes.fill(0xee);
  }
}
