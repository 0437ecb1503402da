import { type Data, type DataType, Field, Int32, Schema, Struct, Timestamp, TimeUnit } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { SAMPLE_FRAMES } from '../testing/index.ts';
import { createFrameBytes, createRecordBatch, schemaBytes } from './record-batch.ts';
import { sliceData } from './slice-batches.ts';

/** The bytes of all dictionaries of a column and its children. */
function dictionaryBytes(data: Data): number {
  return data.children.reduce((bytes, child) => bytes + dictionaryBytes(child), data.dictionary?.byteLength ?? 0);
}

/** The maximum overhead counted for the objects around the buffers of a column. */
function overheadBytes(data: Data): number {
  return 2048 + data.children.reduce((bytes, child) => bytes + overheadBytes(child), 0);
}

describe('a batch is counted with all its buffers', () => {
  const samples = SAMPLE_FRAMES.filter(({ batches, schema }) => batches.length === 1 && schema.fields.length === 1);
  test.each(samples)('$name', ({ batches: [batch] }) => {
    const counter = createFrameBytes();
    const [data]: Data[] = batch.data.children;
    expect(counter.add(batch)).toBeGreaterThanOrEqual(data.byteLength + dictionaryBytes(data));
    expect(counter.add(batch)).toBeLessThanOrEqual(1024 + overheadBytes(data));
  });

  test.each(samples)('$name: all memory of a slice is counted', ({ schema, batches: [batch] }) => {
    const counter = createFrameBytes();
    counter.add(batch);
    const [data]: Data[] = batch.data.children;
    const slice = createRecordBatch(schema, 3, [sliceData(data, 1, 3)]);
    expect(counter.add(slice)).toBeLessThanOrEqual(1024 + overheadBytes(data));
  });
});

describe('a schema is counted with its texts', () => {
  const long = 'x'.repeat(1000);
  const bytesOf = (name: string, type: DataType, metadata = new Map<string, string>()) =>
    schemaBytes(new Schema([new Field(name, type, true, metadata)]));
  const plain = bytesOf('', new Int32());

  test.each([
    ['names', bytesOf(long, new Int32())],
    ['metadata', bytesOf('', new Int32(), new Map([['k', long]]))],
    ['names of fields of a struct', bytesOf('', new Struct([new Field(long, new Int32())]))],
    ['time zones', bytesOf('', new Timestamp(TimeUnit.SECOND, long))],
  ])('%s', (_name, bytes) => {
    expect(bytes - plain).toBeGreaterThanOrEqual(2000);
  });
});
