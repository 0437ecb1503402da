import { mkdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDecoders } from '@svc/frames';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

const files = createFrameFiles({ tempDirectory: tmpdir() });
const decoders = createDecoders();
let fixture: StoreFixture;

beforeEach(async () => {
  fixture = await createStoreFixture(files);
  await mkdir(fixture.folder);
});
afterEach(() => fixture.remove());
afterAll(() => Promise.all([files.close(), decoders.close()]));

const ROWS = 5000;
const leave = (handle: string, rows: number): Promise<void> =>
  writeFile(
    join(fixture.folder, `${handle}.ndjson`),
    Array.from({ length: rows }, (_, i) => `${JSON.stringify({ id: i, text: `${Math.sin(i)}` })}\n`).join(''),
  );

/** The sizes of the copies. */
async function copySizes(): Promise<number[]> {
  const paths = await fixture.unfinished();
  return Promise.all(paths.map(async (path) => (await stat(path)).size));
}

test(
  'copies of foreign files stay within their budget, and one that was removed is made again',
  { tags: ['slow'] },
  async () => {
    const first = await fixture.open({ decoders });
    await leave('a', ROWS);
    expect(await rowsOf(first, refOf('a'))).toHaveLength(ROWS);
    const [bytes = 0] = await copySizes();
    expect(bytes).toBeGreaterThan(0);
    await first.close();
    expect(await copySizes()).toEqual([]);
    // Without a cache in memory, each read needs the copy.
    const store = await fixture.open({ decoders, diskCacheBytes: Math.round(bytes * 2.5), cacheBytes: 0 });
    await leave('b', ROWS);
    await leave('c', ROWS);
    for (const handle of ['a', 'b', 'c', 'a', 'b', 'c']) {
      expect(await rowsOf(store, refOf(handle))).toHaveLength(ROWS);
      await expect.poll(async () => (await copySizes()).length).toBeLessThanOrEqual(2);
    }
  },
);

test('a copy that alone exceeds the budget is out_of_disk, and leaves nothing behind', async () => {
  const store = await fixture.open({ decoders, diskCacheBytes: 1000 });
  await leave('a', ROWS);
  await expect(store.describe(refOf('a'))).rejects.toMatchObject({
    code: 'out_of_disk',
    message: expect.stringContaining('more than 1000 bytes'),
  });
  await expect.poll(copySizes).toEqual([]);
});
