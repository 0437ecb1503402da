import { Field, Int64, makeData, RecordBatch, Schema, Struct, tableFromIPC, tableToIPC, Table } from 'apache-arrow';
import type { FrameStream } from '../frame-stream.ts';

/** A frame of one LONG column `id` that counts from `start`, in batches of `batchRows`. */
export function longFrame(
  rows: number,
  { start = 0, batchRows = rows }: { start?: number; batchRows?: number } = {},
): FrameStream {
  const schema = new Schema([new Field('id', new Int64(), false)]);
  return {
    schema,
    batches: (async function* () {
      for (let at = 0; at < rows; at += batchRows) {
        const length = Math.min(batchRows, rows - at);
        const values = BigInt64Array.from({ length }, (_, i) => BigInt(start + at + i));
        const children = [makeData({ type: new Int64(), length, nullCount: 0, data: values })];
        yield new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length, nullCount: 0, children }));
      }
    })(),
  };
}

/** All rows of a stream as plain values, for comparisons in tests. */
export async function readRows(stream: FrameStream): Promise<unknown[][]> {
  const rows: unknown[][] = [];
  for await (const batch of stream.batches) {
    // Through IPC and back, so that a batch with wrong buffers does not compare equal by luck.
    const table = tableFromIPC(tableToIPC(new Table(batch)));
    for (const row of table) rows.push(Object.values(row?.toJSON() ?? {}));
  }
  return rows;
}
