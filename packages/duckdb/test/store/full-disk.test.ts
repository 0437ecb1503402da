import { execFile } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type FrameStream, type Store, streamFromTable } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { Table, vectorFromArray, Int64 } from 'apache-arrow';
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createDurableStore } from '../../src/store/durable-store.ts';
import { refOf, rowsOf } from '../../src/testing/store-fixture.ts';
import { createTestFiles, FILE_KINDS } from '../../src/testing/test-files.ts';

const run = promisify(execFile);
const disk = await mkdtemp(join(tmpdir(), 'full-disk-'));
// Mounting a disk of one megabyte needs root.
const isMounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', disk]).then(
  () => true,
  () => false,
);
const trades = refOf('trades');

afterAll(async () => {
  if (isMounted) await run('umount', [disk]);
  await rm(disk, { recursive: true });
});

/** Four megabytes that do not compress. */
function largeFrame(): FrameStream {
  const values = randomFillSync(new BigInt64Array(500_000));
  return streamFromTable(new Table({ id: vectorFromArray([...values], new Int64()) }));
}

describe.runIf(isMounted).each(FILE_KINDS)('on a disk of one megabyte, with %s files', (kind) => {
  let store: Store;
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(disk, 'store-'));
    store = await createDurableStore({ directory, files: createTestFiles(kind, tmpdir()) });
    await store.put(trades, longFrame(2));
  });

  afterEach(async () => {
    await store.close();
    await rm(directory, { recursive: true });
  });

  async function* largeBody(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('id\n');
    for (let i = 0; i < 100; i++) yield Buffer.alloc(40_000, '12345678901234\n');
  }

  test.each<[string, () => Promise<unknown>]>([
    ['a put', () => store.put(trades, largeFrame())],
    ['an append', () => store.append(trades, largeFrame())],
    ['an upload', () => store.put(trades, { format: 'csv', body: largeBody() })],
  ])(
    '%s that does not fit is out_of_disk, and the old frame and the space stay',
    { tags: ['slow'] },
    async (_name, change) => {
      const before = await statfs(disk);
      await expect(change()).rejects.toMatchObject({ code: 'out_of_disk' });
      expect(await rowsOf(store, trades)).toEqual([[0n], [1n]]);
      expect((await statfs(disk)).bavail).toBe(before.bavail);
      expect((await store.put(trades, longFrame(3))).info.rows).toBe(3);
    },
  );

  test(
    'a file that does not fit into the temporary directory is out_of_disk, and the space stays',
    { tags: ['slow'] },
    async () => {
      const elsewhere = await mkdtemp(join(tmpdir(), 'store-'));
      const files = createTestFiles(kind, tmpdir());
      const large = await createDurableStore({ directory: elsewhere, files, tempDirectory: directory });
      onTestFinished(async () => {
        await large.close();
        await rm(elsewhere, { recursive: true });
      });
      await large.put(trades, largeFrame());
      const frame = await large.open(trades);
      await expect(frame?.file?.('arrow')).rejects.toMatchObject({ code: 'out_of_disk' });
      const before = await statfs(disk);
      await expect(frame?.file?.('csv')).rejects.toMatchObject({ code: 'out_of_disk' });
      expect((await statfs(disk)).bavail).toBe(before.bavail);
      frame?.close();
    },
  );

  test('a frame can be dropped when not one byte is left', async () => {
    const filler = join(disk, 'filler');
    await expect(writeFile(filler, Buffer.alloc(2_000_000))).rejects.toThrow('ENOSPC');
    expect((await statfs(disk)).bavail).toBe(0);
    expect(await store.drop(trades)).toBe(true);
    expect(await store.describe(trades)).toBeUndefined();
    await rm(filler);
  });
});
