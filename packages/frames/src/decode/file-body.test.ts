import { DataType, type RecordBatch, tableFromArrays, tableToIPC } from 'apache-arrow';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { FileBody } from '../encoding.ts';
import { createDecoders } from './decoders.ts';
import { decodeJson } from './json/json-decoder.ts';
import { decodeBody, plainRows } from '../../test/decode-body.ts';

const MAX_BYTES = 50e6;
const decoders = createDecoders({ maxBytes: MAX_BYTES });
const directory = mkdtempSync(join(tmpdir(), 'file-body-'));
const path = join(directory, 'body');
afterAll(async () => {
  await decoders.close();
  rmSync(directory, { recursive: true });
});

/** A body that is completely in a file. */
async function inFile(body: AsyncIterable<Uint8Array>): Promise<FileBody> {
  let size = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      size += chunk.length;
      yield chunk;
    }
  }
  await writeFile(path, counted());
  return { path, grown: async () => size };
}

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

async function* arrowOf(rows: number): AsyncGenerator<Uint8Array> {
  yield tableToIPC(tableFromArrays({ id: Float64Array.from({ length: rows }, (_, i) => i) }), 'stream');
}

/** The target of a link; undefined if it does not exist. */
function linkOf(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
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

describe('a body in a file', () => {
  test('of JSON may be larger than memory, and all rows determine its columns', { tags: ['slow'] }, async () => {
    await expect(decoders.decode('json', longArray())).rejects.toMatchObject({ code: 'out_of_memory' });
    const { schema, batches } = await decoders.decode('json', await inFile(longArray()));
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

  test(
    'of JSON with an error in its last row is refused, naming that row, before any row is passed on',
    { tags: ['slow'] },
    async () => {
      const wrong = decoders.decode('json', await inFile(longArray('{"id":1,"id":2}')));
      await expect(wrong).rejects.toMatchObject({ code: 'invalid_data', message: /^Row 60001, column "id"/ });
    },
  );

  test('of Arrow may be larger than memory', { tags: ['slow'] }, async () => {
    const bytes = tableToIPC(tableFromArrays({ id: Float64Array.from({ length: 1_000_000 }, (_, i) => i) }), 'stream');
    const end = bytes.length - 8;
    const schemaEnd = new DataView(bytes.buffer, bytes.byteOffset).getInt32(4, true) + 8;
    async function* stream(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, schemaEnd);
      for (let i = 0; i < 8; i++) yield bytes.subarray(schemaEnd, end);
    }
    const once = await decoders.decode('arrow', stream());
    await expect(lastOf(once.batches)).rejects.toMatchObject({ code: 'out_of_memory' });
    const { batches } = await decoders.decode('arrow', await inFile(stream()));
    expect((await lastOf(batches)).rows).toBe(8_000_000);
  });

  test('is read as it grows, in chunks of any size', { tags: ['slow'] }, async () => {
    const bytes = tableToIPC(tableFromArrays({ id: Float64Array.from({ length: 500_000 }, (_, i) => i) }), 'stream');
    writeFileSync(path, '');
    let size = 0;
    async function grown(beyond: number): Promise<number> {
      // One byte, then a cut inside the schema, then ever more.
      const more = bytes.subarray(size, 3 * size + 1);
      appendFileSync(path, more);
      size += more.length;
      return Math.max(beyond, size);
    }
    const { last, rows } = await lastOf((await decoders.decode('arrow', { path, grown })).batches);
    expect(rows).toBe(500_000);
    expect(last?.get(last.numRows - 1)?.['id']).toBe(499_999);
  });

  test('whose writer fails is not decoded', async () => {
    writeFileSync(path, '');
    const grown = () => Promise.reject(new Error('The client went away.'));
    await expect(decoders.decode('arrow', { path, grown })).rejects.toThrow('The client went away.');
  });

  test.runIf(existsSync('/proc/self/fd'))('is closed, whether it could be decoded or not', async () => {
    const { batches } = await decoders.decode('arrow', await inFile(arrowOf(1000)));
    await lastOf(batches);
    await expect(decoders.decode('json', await inFile(arrowOf(1000)))).rejects.toMatchObject({ code: 'invalid_data' });
    const given = await decoders.decode('arrow', await inFile(arrowOf(1000)));
    await given.batches[Symbol.asyncIterator]().return?.();
    const open = () => readdirSync('/proc/self/fd').filter((fd) => linkOf(`/proc/self/fd/${fd}`) === path);
    await expect.poll(open).toEqual([]);
  });
});

test('a key that only one row has is not a duplicate when the row is read again', { tags: ['slow'] }, () => {
  const padding = `"text":"${'y'.repeat(5000)}"`;
  const rows = Array.from({ length: 4000 }, (_, i) => `{${i === 5 ? '"rare":true,' : ''}${padding}}`);
  const decoder: typeof decodeJson = (input, budget) => decodeJson(input, budget, { canReread: true });
  const { schema, batches } = decodeBody(decoder, `[${rows.join()}]`, { chunkBytes: 1 << 20 });
  expect(schema.fields.map(({ type }) => DataType.isBool(type))).toEqual([false, true]);
  expect(batches.reduce((sum, batch) => sum + batch.numRows, 0)).toBe(4000);
  expect(batches[0]?.get(5)?.['rare']).toBe(true);
});
