import { expect, test } from 'vitest';
import { createBatchReader, createBatchWriter } from './batch.ts';
import { createMessageParser, messageHead } from './messages.ts';

const MESSAGES = [
  { kind: 1, id: 7, payload: 'a request' },
  { kind: 3, id: 7, payload: '' },
  { kind: 2, id: 2 ** 32 - 1, payload: 'x'.repeat(50) },
  { kind: 5, id: 1, payload: '' },
];
const BYTES = Buffer.concat(
  MESSAGES.flatMap(({ kind, id, payload }) => [messageHead(kind, id, payload.length), Buffer.from(payload)]),
);

test.each([1, 2, 5, 11, 12, 13, 40, BYTES.length])('frames are found in pieces of %d bytes', (size) => {
  const found: unknown[] = [];
  const parse = createMessageParser((kind, id, payload) =>
    found.push({ kind, id, payload: Buffer.from(payload).toString() }),
  );
  for (let at = 0; at < BYTES.length; at += size) parse(BYTES.subarray(at, at + size));
  expect(found).toEqual(MESSAGES);
});

test('a batch is read as it was written, with every buffer at a multiple of 8', () => {
  const buffers = [0, 1, 7, 8, 9, 100].map((length) => new Uint8Array(length).fill(length));
  const writer = createBatchWriter();
  writer.word(42);
  for (const buffer of buffers) writer.buffer(buffer);
  const { parts, length } = writer.finish();
  const payload = new Uint8Array(Buffer.concat(parts)).buffer;
  expect(payload.byteLength).toBe(length);
  const reader = createBatchReader(payload);
  expect(reader.word()).toBe(42);
  const read = buffers.map(() => reader.buffer());
  expect(read).toEqual(buffers);
  expect(read.map(({ byteOffset }) => byteOffset % 8)).toEqual(buffers.map(() => 0));
});
