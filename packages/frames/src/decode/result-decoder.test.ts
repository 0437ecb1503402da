import { Field, Int32, Schema, Table, tableFromArrays, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow';
import { expect, test } from 'vitest';
import { createRecordBatch } from '../columns/create-record-batch.ts';
import { createResultDecoder, type ResultDecoder } from './result-decoder.ts';

function failureOf(decoder: ResultDecoder, bytes: Uint8Array): unknown {
  try {
    decoder.decode([bytes]);
  } catch (error) {
    return error;
  }
  return undefined;
}

const MAX_BYTES = 1 << 20;
const piece = (values: readonly number[]): Uint8Array =>
  tableToIPC(tableFromArrays({ a: Int32Array.from(values) }), 'stream');

test('pieces of one schema become batches of the first schema', () => {
  const decoder = createResultDecoder(MAX_BYTES);
  expect(decoder.schema).toBeUndefined();
  const empty = tableToIPC(new Table(tableFromArrays({ a: Int32Array.of(1) }).schema, []), 'stream');
  const batches = [piece([1, 2]), empty, piece([3])].flatMap((bytes) => decoder.decode([bytes]));
  expect(batches.flatMap((batch) => [...(batch.getChild('a') ?? [])])).toEqual([1, 2, 3]);
  expect(batches.every((batch) => batch.schema === decoder.schema)).toBe(true);
});

test('columns of one name get numbers, and keep their values', () => {
  const fields = ['a', 'a', 'a_1'].map((name) => new Field(name, new Int32(), true));
  const columns = [[1], [2], [3]].flatMap((values) => vectorFromArray(values, new Int32()).data);
  const bytes = tableToIPC(new Table([createRecordBatch(new Schema(fields), 1, columns)]), 'stream');
  const decoder = createResultDecoder(MAX_BYTES);
  const [batch] = decoder.decode([bytes]);
  expect(decoder.schema?.fields.map(({ name }) => name)).toEqual(['a', 'a_1', 'a_1_1']);
  expect(batch?.get(0)?.toJSON()).toEqual({ a: 1, a_1: 2, a_1_1: 3 });
});

test('a piece may come in chunks of any size', () => {
  const whole = piece([1, 2, 3]);
  for (const size of [1, 7, 64, whole.length]) {
    const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, i) =>
      whole.subarray(i * size, (i + 1) * size),
    );
    const [batch] = createResultDecoder(MAX_BYTES).decode(chunks);
    expect([...(batch?.getChild('a') ?? [])]).toEqual([1, 2, 3]);
  }
});

test('each piece brings its dictionaries', () => {
  const bytes = tableToIPC(new Table({ s: vectorFromArray(['x', 'y', 'x']) }), 'stream');
  const decoder = createResultDecoder(MAX_BYTES);
  const batches = [bytes, bytes].flatMap((one) => decoder.decode([one]));
  expect(batches.flatMap((batch) => [...(batch.getChild('s') ?? [])])).toEqual(['x', 'y', 'x', 'x', 'y', 'x']);
});

test('a piece with another schema is an error', () => {
  const decoder = createResultDecoder(MAX_BYTES);
  decoder.decode([piece([1])]);
  const other = tableToIPC(new Table({ a: vectorFromArray(['x'], new Utf8()) }), 'stream');
  expect(failureOf(decoder, other)).toMatchObject({ code: 'invalid_data' });
});

test('a changed byte gives an error or values, never a crash', () => {
  const bytes = piece([1, 2, 3]);
  for (let at = 0; at < bytes.length; at++) {
    const damaged = bytes.slice();
    damaged[at] = (damaged[at] ?? 0) ^ 0xff;
    const failure = failureOf(createResultDecoder(MAX_BYTES), damaged) ?? { code: 'none' };
    expect(['invalid_data', 'out_of_memory', 'none'], `byte ${at}`).toContain(Object(failure).code);
  }
});

test('a piece that needs more than its memory is an error', () => {
  const bytes = piece(Array.from({ length: 1000 }, () => 1));
  expect(failureOf(createResultDecoder(1000), bytes)).toMatchObject({ code: 'out_of_memory' });
});
