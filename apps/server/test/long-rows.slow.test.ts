// Small bodies whose rows are long when they are written do not take the file engine away from another tenant.
import { gzipSync } from 'node:zlib';
import { Dictionary, Int8, makeData, makeVector, Table, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow';
import { expect, test } from 'vitest';
import { bearer, callersFileOf, createCaller } from './callers.ts';
import { startProcess, testFile } from './server-process.ts';

/** Rows that all refer to one value. */
function repeated(rows: number, valueBytes: number): Table {
  const dictionary = vectorFromArray(['y'.repeat(valueBytes)], new Utf8());
  const type = new Dictionary(new Utf8(), new Int8());
  return new Table({ a: makeVector(makeData({ type, length: rows, data: new Int8Array(rows), dictionary })) });
}

/** One row of one long text. */
function cell(bytes: number): Table {
  const valueOffsets = Int32Array.of(0, bytes);
  const data = new Uint8Array(bytes).fill(0x79);
  return new Table({ a: makeVector(makeData({ type: new Utf8(), length: 1, nullCount: 0, valueOffsets, data })) });
}

const bodyOf = (table: Table): Uint8Array<ArrayBuffer> => new Uint8Array(gzipSync(tableToIPC(table, 'stream')));

test('uploads of 200 GB in a dictionary and of long cells do not delay the small writes of another tenant', async () => {
  const [alpha, beta] = [createCaller('alpha', ['read', 'write']), createCaller('beta', ['read', 'write'])];
  const file = testFile('callers.toml', callersFileOf({ alpha, beta }));
  const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file } });
  const bomb = bodyOf(repeated(2_000_000, 100_000));
  const long = bodyOf(cell(200_000_000));
  const headers = {
    authorization: bearer(alpha.token),
    'content-type': 'application/vnd.apache.arrow.stream',
    'content-encoding': 'gzip',
  };
  let ended = 0;
  const send = async (handle: string, body: Uint8Array<ArrayBuffer>): Promise<number> => {
    const response = await server.fetch(`/frames/${handle}`, { method: 'PUT', headers, body });
    await response.text();
    ended += 1;
    return response.status;
  };
  const places = [0, 1, 2, 3];
  const cells = Promise.all(places.map((i) => send(`cell${i}`, long)));
  const bombs = Promise.all(places.map((i) => send(`bomb${i}`, bomb)));
  const small = await server.put('small', [{ a: 1 }], { headers: { authorization: bearer(beta.token) } });
  expect(small.status).toBe(201);
  // The bombs are refused without being written.
  expect(ended).toBeLessThanOrEqual(places.length + 1);
  expect(await bombs).toEqual([413, 413, 413, 413]);
  expect(await cells).toEqual([201, 201, 201, 201]);
  expect(server.log.filter(({ message }) => message.startsWith('A process of the engine has ended'))).toEqual([]);
});
