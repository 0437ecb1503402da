import {
  DataType,
  Dictionary,
  Int32,
  RecordBatchReader,
  Table,
  tableFromIPC,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { streamFromTable } from '../decode/adopt-batch.ts';
import { bytesOf } from '../testing/bytes-of.ts';
import { streamOfSample } from '../testing/sample-frame.ts';
import { longFrame, SAMPLE_FRAMES } from '../testing/sample-frames.ts';
import { encodeArrowFile } from './arrow-file.ts';
import { encodeArrowStream } from './arrow-stream.ts';

const hasDictionary = ({ fields }: { fields: readonly { type: DataType }[] }): boolean =>
  fields.some(({ type }) => DataType.isDictionary(type));

describe('an Arrow file', () => {
  test.each(SAMPLE_FRAMES.filter((sample) => !hasDictionary(streamOfSample(sample).schema)))(
    'of $name has the batches of the stream',
    async (sample) => {
      const stream = await bytesOf(encodeArrowStream(streamOfSample(sample)));
      const file = await bytesOf(encodeArrowFile(streamOfSample(sample)));
      expect(Buffer.from(file.subarray(0, 8)).toString('latin1')).toBe('ARROW1\0\0');
      expect(Buffer.from(file.subarray(-6)).toString('latin1')).toBe('ARROW1');
      const messages = Buffer.from(file.subarray(8, 8 + stream.length));
      expect(messages.equals(stream)).toBe(true);
      const read = tableFromIPC(file);
      expect(Buffer.from(tableToIPC(read, 'stream')).equals(tableToIPC(tableFromIPC(stream), 'stream'))).toBe(true);
    },
  );

  test('has a footer that finds each batch', async () => {
    const bytes = await bytesOf(encodeArrowFile(longFrame(400_000, { batchRows: 100_000 })));
    const reader = RecordBatchReader.from(bytes);
    if (!reader.isFile()) throw new Error('It is not a file.');
    reader.open();
    expect(reader.numRecordBatches).toBe(4);
    expect(reader.readRecordBatch(2)?.getChildAt(0)?.get(0)).toBe(200_000n);
  });

  test('keeps a dictionary that all batches share', async () => {
    const [batch] = new Table({ s: vectorFromArray(['a', 'b', null, 'a'], new Dictionary(new Utf8(), new Int32())) })
      .batches;
    const symbols = new Table([batch, batch].flatMap((one) => one ?? []));
    const bytes = await bytesOf(encodeArrowFile(streamFromTable(symbols)));
    expect(tableFromIPC(bytes).toArray().map(String)).toEqual(symbols.toArray().map(String));
  });
});
