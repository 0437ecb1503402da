import { type Data, Field, Schema } from 'apache-arrow';
import { createRecordBatch } from '../src/columns/record-batch.ts';
import { allocateColumns } from '../src/encode/columns/column.ts';
import { createCellOptions, createColumns } from '../src/encode/columns/create-column.ts';
import { useKernel } from '../src/encode/kernel/kernel.ts';

const ROOM_BYTES = 1024;

/** The text of every value of a column in CSV, without anything around it. */
export function writtenCells(data: Data): string[] {
  const schema = new Schema([new Field('c', data.type, true)]);
  const batch = createRecordBatch(schema, data.length, [data]);
  const [column] = createColumns(batch, schema.fields, createCellOptions('csv'));
  const kernel = useKernel();
  kernel.owner = undefined;
  kernel.clear();
  const place = allocateColumns(kernel, 1);
  column.load(kernel, place, 0, data.length);
  const bytes = ROOM_BYTES + data.length * column.fixedBytes;
  const [ends, out] = [kernel.allocate(4 * data.length), kernel.allocate(bytes)];
  const { row } = kernel.write(place, 0, data.length, { out, bytes, cellBytes: column.fixedBytes, ends });
  if (row < data.length) throw new RangeError(`There was no space for value ${row}.`);
  const text = Buffer.from(kernel.bytes.buffer, out, bytes).toString('latin1');
  return Array.from({ length: data.length }, (_, i) =>
    text.slice(i === 0 ? 0 : kernel.words[(ends >> 2) + i - 1], kernel.words[(ends >> 2) + i]),
  );
}
