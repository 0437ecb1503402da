import { DataType, type RecordBatch, tableFromArrays, tableToIPC } from 'apache-arrow';
import { afterAll, describe, expect, test } from 'vitest';
import { createDecoders } from './decoders.ts';
import { decodeJson } from './json-decoder.ts';
import { decodeBody, plainRows } from '../../test/decode-body.ts';

const MAX_BYTES = 50e6;
const decoders = createDecoders({ maxBytes: MAX_BYTES });
afterAll(() => decoders.close());

const LONG_TEXT = 'x'.repeat(1000);
const ROWS = 60_000;

/** An array of rows, 60 MB in all; the last one changes a type and adds a column. */
async function* longArray(last = '{"id":"last","late":{"a":[1]}}'): AsyncGenerator<Uint8Array> {
  yield Buffer.from('[');
  for (let at = 0; at < ROWS; at += 1000) {
    yield Buffer.from(Array.from({ length: 1000 }, (_, i) => `{"id":${at + i},"text":"${LONG_TEXT}"},`).join(''));
  }
  yield Buffer.from(`${last}]`);
}

async function lastOf(batches: AsyncIterable<RecordBatch>): Promise<{ rows: number; last: RecordBatch | undefined }> {
  let rows = 0;
  let last: RecordBatch | undefined;
  for await (const batch of batches) {
    rows += batch.numRows;
    last = batch;
  }
  return { rows, last };
}

describe('a body that comes once more', () => {
  test('of JSON may take more than there is memory, and its columns are those of all rows', async () => {
    await expect(decoders.decode('json', longArray())).rejects.toMatchObject({ code: 'out_of_memory' });
    const { schema, batches } = await decoders.decode('json', longArray(), { reread: () => longArray() });
    expect(schema.fields.map(({ name, type }) => `${name} ${type.toString()}`)).toEqual([
      'id Utf8',
      'text Utf8',
      'late Struct<{a:List<Int64>}>',
    ]);
    const { rows, last } = await lastOf(batches);
    expect(rows).toBe(ROWS + 1);
    expect(plainRows(last === undefined ? [] : [last.slice(-2)])).toEqual([
      { id: String(ROWS - 1), text: LONG_TEXT, late: null },
      { id: 'last', text: null, late: { a: [1] } },
    ]);
  });

  test('of JSON that is wrong in its last row is refused with that row, before any of it is handed on', async () => {
    const wrong = decoders.decode('json', longArray('{"id":1,"id":2}'), { reread: () => longArray() });
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_data', message: /^Row 60001, column "id"/ });
  });

  test('of Arrow may take more than there is memory', async () => {
    const bytes = tableToIPC(tableFromArrays({ id: Float64Array.from({ length: 1_000_000 }, (_, i) => i) }), 'stream');
    const end = bytes.length - 8;
    const schemaEnd = new DataView(bytes.buffer, bytes.byteOffset).getInt32(4, true) + 8;
    async function* stream(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, schemaEnd);
      for (let i = 0; i < 8; i++) yield bytes.subarray(schemaEnd, end);
    }
    const once = await decoders.decode('arrow', stream());
    await expect(lastOf(once.batches)).rejects.toMatchObject({ code: 'out_of_memory' });
    const { batches } = await decoders.decode('arrow', stream(), { reread: stream });
    expect((await lastOf(batches)).rows).toBe(8_000_000);
  });
});

test('a key that only one row has is not taken for a second one of that row when it is read again', () => {
  const padding = `"text":"${'y'.repeat(5000)}"`;
  const rows = Array.from({ length: 4000 }, (_, i) => `{${i === 5 ? '"rare":true,' : ''}${padding}}`);
  const decoder: typeof decodeJson = (input, budget) => decodeJson(input, budget, true);
  const { schema, batches } = decodeBody(decoder, `[${rows.join()}]`, { chunkBytes: 1 << 20 });
  expect(schema.fields.map(({ type }) => DataType.isBool(type))).toEqual([false, true]);
  expect(batches.reduce((sum, batch) => sum + batch.numRows, 0)).toBe(4000);
  expect(batches[0]?.get(5)?.['rare']).toBe(true);
});
