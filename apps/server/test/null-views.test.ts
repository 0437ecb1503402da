import { Data, makeVector, Table, tableToIPC, Utf8View } from 'apache-arrow';
import { afterAll, expect, test } from 'vitest';
import { startProcess } from './server-process.ts';

const VALUE = 'a value of more than twelve bytes';

const server = await startProcess({ onEnd: afterAll });

/** Two rows: the value, and a null whose view has some length, buffer and offset. */
function table(view: readonly [length: number, buffer: number, offset: number]): Table {
  const words = Int32Array.of(VALUE.length, Buffer.from(VALUE).readInt32LE(0), 0, 0, view[0], 0, view[1], view[2]);
  const buffers = { 1: new Uint8Array(words.buffer), 2: Uint8Array.of(1) };
  const data = new Data(new Utf8View(), 0, 2, 1, buffers);
  return new Table({ a: makeVector(Object.assign(data, { variadicBuffers: [Buffer.from(VALUE)] })) });
}

test.each<readonly [number, number, number]>([
  [100, 0, -5],
  [100, 0, -2_000_000_000],
  [2_000_000_000, 0, 2_000_000_000],
  [-1, -1, -1],
  [100, 7, 0],
])('the length %i, buffer %i and offset %i in the view of a null row change no other row', async (...view) => {
  const body = new Uint8Array(tableToIPC(table(view), 'stream'));
  const headers = { 'content-type': 'application/vnd.apache.arrow.stream' };
  expect((await server.fetch('/frames/t', { method: 'PUT', headers, body })).ok).toBe(true);
  const response = await server.fetch('/exec?query=select+a+from+t&engine=local&fmt=json');
  expect(await response.json()).toMatchObject({ dataset: [[VALUE], [null]] });
});
