// A backup that the first version with format 1 made (packages/duckdb/test/format-1): every later version restores and reads it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import { restoreBackup } from '../../src/store/backup/restore-backup.ts';
import { createDurableStore } from '../../src/store/durable-store.ts';
import { listDescribed, refOf, rowsOf } from '../../src/testing/store-fixture.ts';

const ROWS = [
  [9007199254740993n, 1.5, 'BTC', '2024-01-02T03:04:05.678Z', true],
  [-2n, null, null, null, false],
];

test('a backup of format 1 is restored and read: one file, several parts, an expiry, all checksums', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'format-1-'));
  const directory = join(folder, 'restored');
  const files = createFrameFiles({ tempDirectory: folder });
  try {
    const backup = fileURLToPath(new URL('../format-1', import.meta.url));
    expect(await restoreBackup({ backup, directory })).toMatchObject({ frames: 2 });
    const store = await createDurableStore({ directory: join(directory, 'cold'), files });
    expect(await rowsOf(store, refOf('trades'))).toEqual([...ROWS, ...ROWS]);
    expect(await rowsOf(store, refOf('expiring'))).toEqual(ROWS);
    const frames = await listDescribed(store);
    expect(frames.map(({ handle, version, expires }) => [handle, version, expires?.getUTCFullYear()])).toEqual([
      ['expiring', '01M7JSA5QP0406QAJWD3MAZ4N4', 2121],
      ['trades', '01M7JSA487GBBV8NBBWMYZ87NY', undefined],
    ]);
    for await (const { state } of store.verify()) expect(state).toBe('intact');
    await store.close();
  } finally {
    await files.close();
    await rm(folder, { recursive: true });
  }
});
