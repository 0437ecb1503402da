import { encodeArrowStream } from '@svc/frames';
import { buildBytes, buildNumbers, bytesOf, SAMPLE_FRAMES, streamOfSample } from '@svc/frames/testing';
import { Dictionary, Field, Int8, makeData, RecordBatch, Schema, Struct, Utf8, Vector } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { type StreamPart, writeParts } from '../../../../packages/frames/test/write-arrow.ts';
import { blockFromTable } from '../rows/cell-block.ts';
import { createArrowDecoder, decodeArrow } from './decode-arrow.ts';

const schema = new Schema([new Field('a', new Dictionary(new Utf8(), new Int8(), 3), true)]);

const dictionary = (texts: readonly (string | null)[], isDelta: boolean): StreamPart => {
  return { kind: 'dictionary', id: 3, data: buildBytes(new Utf8(), texts), isDelta };
};

/** A batch of keys of a dictionary that is written separately. */
function keys(values: readonly (number | null)[]): StreamPart {
  const [{ type }] = schema.fields;
  const data = buildNumbers(new Int8(), values).clone(type);
  Object.assign(data, { dictionary: new Vector([buildBytes(new Utf8(), [])]) });
  const rows = makeData({ type: new Struct(schema.fields), length: values.length, nullCount: 0, children: [data] });
  return { kind: 'batch', batch: new RecordBatch(schema, rows) };
}

const PARTS = [
  dictionary(['a'], false),
  keys([0, null, 0]),
  dictionary(['b', null], true),
  keys([1, 0, 2]),
  dictionary(['c'], true),
  keys([3]),
  dictionary(['d'], false),
  keys([0]),
];

describe('a dictionary', () => {
  test('holds for the rows after it, grows by deltas, and is replaced', () => {
    const table = decodeArrow(writeParts(schema, PARTS));
    const block = blockFromTable(table, 0);
    const texts = Array.from({ length: block.rows }, (_, row) => block.text(row, 0));
    expect(texts).toEqual(['a', null, 'a', 'b', 'a', null, 'c', 'd']);
  });

  test.each(['lz4', 'zstd'] as const)('and rows that are compressed with %s are refused', (compression) => {
    expect(() => decodeArrow(writeParts(schema, PARTS, { compression }))).toThrow('The Arrow data is compressed.');
  });
});

test.each([
  ['no bytes', new Uint8Array(0)],
  ['only the mark at the end', Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0)],
  ['a stream that is cut in its schema', writeParts(schema, PARTS).subarray(0, 100)],
  ['a stream that is cut in its rows', writeParts(schema, PARTS).subarray(0, -16)],
])('%s are not an Arrow stream', (_name, bytes) => {
  expect(() => decodeArrow(bytes)).toThrow('not a valid Arrow stream');
});

test('rows before a schema are not an Arrow stream', () => {
  const decoder = createArrowDecoder();
  const bytes = writeParts(schema, PARTS);
  const schemaBytes = 8 + new DataView(bytes.buffer, bytes.byteOffset).getInt32(4, true);
  expect(() => decoder.decode(bytes.slice(schemaBytes))).toThrow('not a valid Arrow stream');
  decoder.decode(bytes.slice(0, schemaBytes));
  expect(decoder.decode(bytes.slice(schemaBytes)).rows).toBe(8);
});

test.each(['utf8', 'struct', 'dictionary of binary', 'utf8 view'])(
  'no damaged byte of "%s" does more than to be refused or shown',
  async (name) => {
    const sample = SAMPLE_FRAMES.find((one) => one.name === name);
    if (sample === undefined) throw new Error(`There is no sample "${name}".`);
    const bytes = await bytesOf(encodeArrowStream(streamOfSample(sample)));
    for (const [at, byte] of bytes.entries()) {
      const damaged = Uint8Array.from(bytes);
      damaged[at] = byte ^ 0xff;
      try {
        decodeArrow(damaged);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }
  },
);
