import { Schema } from 'apache-arrow';
import { expect, test } from 'vitest';
import { parseHandle } from '../store.ts';
import { createMemoryStore } from './memory-store.ts';
import { longFrame } from '../testing/sample-frames.ts';
import { storeContract } from '../testing/store-contract.ts';

storeContract('the memory store', async (options) => createMemoryStore(options));

test('names, metadata and tiny batches count, not only values', async () => {
  const store = createMemoryStore();
  const ref = { tenant: 'default', handle: parseHandle('t') };
  const plain = (await store.put(ref, longFrame(100))).info.bytes;
  const { schema, batches } = longFrame(100);
  const noted = { schema: new Schema(schema.fields, new Map([['note', 'x'.repeat(10_000)]])), batches };
  expect((await store.put(ref, noted)).info.bytes).toBeGreaterThan(plain + 10_000);
  expect((await store.put(ref, longFrame(100, { batchRows: 1 }))).info.bytes).toBeGreaterThan(plain + 100 * 1000);
});
