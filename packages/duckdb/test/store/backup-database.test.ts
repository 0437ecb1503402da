import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type BackupReport, createBackup } from '../../src/store/backup/create-backup.ts';
import { createStoreFixture, type StoreFixture } from '../../src/testing/store-fixture.ts';

let fixture: StoreFixture;
let folder: string;
let backup: string;
let duckdbPath: string;

beforeEach(async () => {
  fixture = await createStoreFixture();
  await (await fixture.open()).close();
  folder = await mkdtemp(join(tmpdir(), 'backup-'));
  backup = join(folder, 'backup');
  duckdbPath = join(folder, 'own.duckdb');
  await writeFile(duckdbPath, 'old');
  await writeFile(`${duckdbPath}.wal`, 'committed');
});

afterEach(async () => {
  await fixture.remove();
  await rm(folder, { recursive: true });
});

/** Makes a backup, and a change each time when the copy of the log has begun and that of the database is complete. */
async function backUp(change?: () => void): Promise<BackupReport> {
  const { signal } = new AbortController();
  // The copy of a file asks before each read whether it should stop.
  signal.throwIfAborted = () => {
    if (existsSync(join(backup, 'analytics.duckdb.wal'))) change?.();
  };
  return createBackup({ directory: fixture.directory, destination: backup, duckdbPath, signal });
}

async function copies(): Promise<Record<string, string>> {
  const names = (await readdir(backup)).filter((name) => name.startsWith('analytics'));
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(backup, name), 'utf8')])),
  );
}

describe('the database and its write-ahead log', () => {
  test('are both in the backup', async () => {
    expect(await backUp()).toMatchObject({ problems: [] });
    expect(await copies()).toEqual({ 'analytics.duckdb': 'old', 'analytics.duckdb.wal': 'committed' });
  });

  test('are copied again after a checkpoint between the copies, which moves rows from one to the other', async () => {
    const report = await backUp(() => {
      writeFileSync(duckdbPath, 'old, committed');
      rmSync(`${duckdbPath}.wal`, { force: true });
    });
    expect(report).toMatchObject({ problems: [] });
    expect(await copies()).toEqual({ 'analytics.duckdb': 'old, committed' });
  });

  test('are a problem, and not in the backup, if one of them changes all the time', async () => {
    let changes = 0;
    const { problems, files } = await backUp(() => writeFileSync(duckdbPath, `old ${'.'.repeat((changes += 1))}`));
    expect(problems).toEqual([
      `${JSON.stringify(duckdbPath)} is not in the backup: another program changed it, or its write-ahead log, while it was copied.`,
    ]);
    expect({ files, copies: await copies() }).toEqual({ files: 1, copies: {} });
  });
});
