import { ServiceError } from '@svc/errors';
import type { PutFrameRequest } from '@svc/proto';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { expect, test } from 'vitest';
import { collect, deferred } from '../test/start-server.ts';
import { uploadBody } from './frame-service.ts';

const table = tableFromArrays({ id: Int32Array.of(1, 2, 3) });
const stream = tableToIPC(table, 'stream');
const file = tableToIPC(table, 'file');

async function* messages(bytes: Uint8Array, size: number, end = Promise.resolve()): AsyncGenerator<PutFrameRequest> {
  for (let start = 0; start < bytes.length; start += size) {
    yield { target: undefined, chunk: bytes.subarray(start, start + size) };
    yield { target: undefined, chunk: new Uint8Array(0) };
  }
  await end;
}

test.each([
  ['a stream', stream, stream.length],
  ['a stream in bytes', stream, 1],
  ['a stream whose end is cut in two', stream, stream.length - 3],
  ['a file', file, file.length],
  ['a file whose end is cut in two', file, file.length - 3],
])('%s is accepted', async (_what, bytes, size) => {
  expect(Buffer.concat(await collect(uploadBody(messages(bytes, size))))).toEqual(Buffer.from(bytes));
});

test.each([
  ['nothing', stream.subarray(0, 0)],
  ['a stream without its end', stream.subarray(0, -8)],
  ['a stream without its last byte', stream.subarray(0, -1)],
  ['a file without its last byte', file.subarray(0, -1)],
])('%s is refused', async (_what, bytes) => {
  await expect(collect(uploadBody(messages(bytes, 100)))).rejects.toThrow(ServiceError);
});

test('the last chunk is held back until the upload has ended', async () => {
  const end = deferred();
  const body = uploadBody(messages(stream, stream.length - 8, end.promise));
  expect((await body.next()).value).toHaveLength(stream.length - 8);
  const last = body.next();
  let isThere = false;
  void last.then(() => (isThere = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isThere).toBe(false);
  end.resolve();
  expect((await last).value).toHaveLength(8);
});
