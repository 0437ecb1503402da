import { Dictionary, Int32, Table, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow';
import { expect, test } from 'vitest';
import { startProcess } from './server-process.ts';

test('storage.max_conversion_bytes bounds rows with their own copies of long dictionary values', async () => {
  const server = await startProcess({ env: { SERVICE_STORAGE_MAX_CONVERSION_BYTES: '100000' } });
  const put = (rows: number): Promise<Response> => {
    const texts = Array.from({ length: rows }, () => 'y'.repeat(1000));
    const table = new Table({ a: vectorFromArray(texts, new Dictionary(new Utf8(), new Int32())) });
    const headers = { 'content-type': 'application/vnd.apache.arrow.stream' };
    return server.fetch('/frames/t', { method: 'PUT', headers, body: Buffer.from(tableToIPC(table, 'stream')) });
  };
  expect((await put(100)).status).toBe(201);
  const refused = await put(101);
  expect([refused.status, await refused.json()]).toMatchObject([
    413,
    { code: 'payload_too_large', hint: expect.stringContaining('storage.max_conversion_bytes') },
  ]);
  expect(await (await server.fetch('/frames/t')).json()).toMatchObject({ rows: 100 });
});
