import { copyFile, readdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDecoders, type FrameStream, type Quota, type Store, streamFromTable } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { tableFromArrays } from 'apache-arrow';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';
import { createTestFiles } from '../../src/testing/test-files.ts';

const files = createTestFiles('duckdb', tmpdir());
const decoders = createDecoders({ maxBytes: 256 * 1024 ** 2 });
let fixture: StoreFixture;
let store: Store;

beforeEach(async () => {
  fixture = await createStoreFixture(files);
  store = await fixture.open({ decoders });
});
afterEach(() => fixture.remove());
afterAll(() => Promise.all([files.close(), decoders.close()]));

const put = (handle: string, quota: Quota, rows = 1000) => store.put(refOf(handle), longFrame(rows), { quota });

/** Frames that do not compress. */
function noise(rows: number, batches = 1): FrameStream {
  const table = () => tableFromArrays({ x: Float64Array.from({ length: rows }, () => Math.random()) });
  async function* several(): FrameStream['batches'] {
    for (let i = 0; i < batches; i += 1) yield* table().batches;
  }
  return { schema: streamFromTable(table()).schema, batches: several() };
}

/** The bytes of the files with rows, also unfinished ones. */
async function bytesOnDisk(): Promise<number> {
  const entries = await readdir(fixture.directory, { recursive: true, withFileTypes: true });
  const withRows = entries.filter(({ name }) => name.endsWith('.parquet') || name.startsWith('.tmp-'));
  const sizes = await Promise.all(
    withRows.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

const bytesOf = async (): Promise<number> => (await store.list('default')).reduce((sum, { bytes }) => sum + bytes, 0);

test('concurrent puts that fit one by one all succeed, and the others leave nothing', async () => {
  const { bytes } = (await put('first', {})).info;
  const writes = Array.from({ length: 10 }, (_, i) => put(`f${i}`, { maxBytes: 4 * bytes }));
  const outcomes = await Promise.allSettled(writes);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  expect(await bytesOf()).toBe(4 * bytes);
  expect(await bytesOnDisk()).toBe(4 * bytes);
});

test('a large put is cancelled while it is written, and leaves nothing', async () => {
  const batches = 200;
  let read = 0;
  const { schema, batches: rows } = noise(100_000, batches);
  async function* counted(): FrameStream['batches'] {
    for await (const batch of rows) {
      read += 1;
      yield batch;
    }
  }
  const quota = { maxBytes: 1_000_000 };
  await expect(store.put(refOf('big'), { schema, batches: counted() }, { quota })).rejects.toMatchObject({
    code: 'quota_exceeded',
  });
  expect(read).toBeLessThan(batches);
  expect(await fixture.names()).toEqual([]);
  await put('small', quota);
});

describe('an upload', () => {
  async function* body(chunks: number, onRead = (): void => {}): AsyncGenerator<Uint8Array> {
    const chunk = Buffer.from(`${'x'.repeat(1023)}\n`.repeat(1024));
    for (let i = 0; i < chunks; i += 1) {
      onRead();
      yield chunk;
    }
  }

  test('whose length is too long is refused before it is read', async () => {
    let read = 0;
    const upload = { format: 'csv', body: body(1, () => (read += 1)), bytes: 10 ** 9 } as const;
    await expect(store.put(refOf('a'), upload, { quota: { maxBytes: 10 ** 8 } })).rejects.toMatchObject({
      code: 'quota_exceeded',
      message:
        'The uploads in progress of the tenant "default" may have 100000000 bytes (max_bytes), and would have 1000000000.',
    });
    expect(read).toBe(0);
    expect(await fixture.names()).toEqual([]);
  });

  test('that turns out to be too long is refused while it arrives, and leaves nothing', async () => {
    let read = 0;
    const upload = { format: 'csv', body: body(1000, () => (read += 1)) } as const;
    await expect(store.put(refOf('a'), upload, { quota: { maxBytes: 1000 } })).rejects.toMatchObject({
      code: 'quota_exceeded',
      message: expect.stringContaining('may have 67108864 bytes'),
    });
    expect(read).toBeLessThanOrEqual(66);
    expect(await fixture.names()).toEqual([]);
  });

  test('of text that is longer than what it stores fits, and its temporary file does not count afterwards', async () => {
    const upload = { format: 'csv', body: body(20) } as const;
    const { info } = await store.put(refOf('a'), upload, { quota: { maxBytes: 2_000_000 } });
    expect(info.bytes).toBeLessThan(2_000_000);
    expect(await bytesOnDisk()).toBe(info.bytes);
  });

  test('of a full tenant is not read', async () => {
    const { bytes } = (await put('a', {})).info;
    let read = 0;
    const upload = { format: 'csv', body: body(1, () => (read += 1)) } as const;
    await expect(store.put(refOf('b'), upload, { quota: { maxBytes: bytes } })).rejects.toMatchObject({
      code: 'quota_exceeded',
    });
    await expect(store.append(refOf('a'), upload, { quota: { maxBytes: bytes } })).rejects.toMatchObject({
      code: 'quota_exceeded',
    });
    expect(read).toBe(0);
  });
});

describe('appends', () => {
  test('that are written together are accepted one by one, as far as they fit', async () => {
    await store.put(refOf('a'), noise(10));
    const before = await bytesOf();
    const one = (await store.append(refOf('other'), noise(2000))).info.bytes;
    const maxBytes = before + one + Math.floor(3.5 * one);
    const appends = Array.from({ length: 8 }, () => store.append(refOf('a'), noise(2000), { quota: { maxBytes } }));
    const outcomes = await Promise.allSettled(appends);
    const accepted = outcomes.filter(({ status }) => status === 'fulfilled').length;
    expect(accepted).toBe(3);
    expect(await bytesOf()).toBeLessThanOrEqual(maxBytes);
    expect((await rowsOf(store, refOf('a')))?.length).toBe(10 + accepted * 2000);
    await store.close();
    expect(await bytesOnDisk()).toBeLessThanOrEqual(maxBytes);
  });

  test('merges of parts keep the quota, and what they save can be used', { tags: ['slow'] }, async () => {
    await store.close();
    store = await fixture.open({ mergeAbove: 4 });
    await put('a', {}, 10);
    const maxBytes = 40_000;
    for (let i = 0; i < 60; i += 1) {
      const appended = await store.append(refOf('a'), longFrame(10), { quota: { maxBytes } }).catch(() => undefined);
      if (appended === undefined) break;
      expect(await bytesOf()).toBeLessThanOrEqual(maxBytes);
    }
    await store.close();
    expect(await bytesOnDisk()).toBeLessThanOrEqual(maxBytes);
  });
});

test('frames that were there before a restart count', async () => {
  const { bytes } = (await put('a', {})).info;
  await put('b', {});
  await store.append(refOf('b'), longFrame(1000));
  const all = await bytesOf();
  await store.close();
  store = await fixture.open();
  await expect(put('c', { maxBytes: all + bytes - 1 })).rejects.toMatchObject({ code: 'quota_exceeded' });
  await put('c', { maxBytes: all + bytes });
  expect(await bytesOf()).toBe(all + bytes);
});

test('files put by hand do not count', async () => {
  const { bytes } = (await put('a', {})).info;
  const [part = ''] = await fixture.parts('a');
  await copyFile(part, join(fixture.folder, 'by-hand.parquet'));
  await put('b', { maxBytes: 2 * bytes, maxFrames: 2 });
  expect((await store.list('default')).map(({ handle }) => handle)).toEqual(['a', 'b', 'by-hand']);
});
