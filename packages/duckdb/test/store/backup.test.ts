import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { longFrame } from '@svc/frames/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createBackup } from '../../src/store/backup/create-backup.ts';
import { restoreBackup } from '../../src/store/backup/restore-backup.ts';
import { createDurableStore, type DurableStore } from '../../src/store/durable-store.ts';
import { createArrowFrameFiles } from '../../src/testing/arrow-frame-files.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';
import { backUpAmongChanges } from '../back-up-among-changes.ts';

let fixture: StoreFixture;
let folder: string;
let backup: string;
let restored: string;

beforeEach(async () => {
  fixture = await createStoreFixture();
  folder = await mkdtemp(join(tmpdir(), 'backup-'));
  backup = join(folder, 'backup');
  restored = join(folder, 'restored');
});

afterEach(async () => {
  await fixture.remove();
  await rm(folder, { recursive: true });
});

const backUp = () => createBackup({ directory: fixture.directory, destination: backup });
const restore = () => restoreBackup({ backup, directory: restored });

/** Opens the frames of a backup, or of what was restored from it. */
async function withStore<T>(directory: string, work: (store: DurableStore) => Promise<T>): Promise<T> {
  const store = await createDurableStore({ directory: join(directory, 'cold'), files: createArrowFrameFiles() });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const filesOf = async (directory: string): Promise<string[]> =>
  (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted();

describe('a backup, restored', () => {
  test('has all frames of all tenants with their rows, versions and expiries', async () => {
    const store = await fixture.open();
    const refs = [refOf('one'), refOf('appended'), refOf('Expiring'), refOf('one', 'Other tenant')];
    for (const [at, ref] of refs.entries()) await store.put(ref, longFrame(at + 1));
    await store.append(refOf('appended'), longFrame(5));
    await store.expire(refOf('Expiring'), 1000);
    const facts = async (from: DurableStore) =>
      Promise.all(refs.map(async (ref) => [await from.describe(ref), await rowsOf(from, ref)]));
    const before = (await facts(store)).map(([info, rows]) => [{ ...(info as object), tier: 'disk' }, rows]);
    expect(await backUp()).toMatchObject({ frames: 4, problems: [] });
    expect(await restore()).toMatchObject({ frames: 4 });
    expect(await withStore(restored, facts)).toEqual(before);
  });

  test('has the files of others and the database, but no lock, old version, dropped frame or unfinished file', async () => {
    const store = await fixture.open();
    for (const rows of [1, 2]) await store.put(refOf('replaced'), longFrame(rows));
    const { info } = await store.put(refOf('kept'), longFrame(3));
    const old = await store.open(refOf('kept'));
    const { info: newer } = await store.put(refOf('kept'), longFrame(4));
    await store.drop(refOf('replaced'));
    await writeFile(join(fixture.directory, 'prices.csv'), 'a\n1\n');
    await writeFile(join(fixture.folder, 'notes.json'), '[]');
    await writeFile(join(fixture.folder, '.tmp-1'), 'half');
    await writeFile(join(fixture.folder, 'README'), 'not a frame');
    const duckdbPath = join(folder, 'other.duckdb');
    await writeFile(duckdbPath, 'database');
    const report = await createBackup({ directory: fixture.directory, destination: backup, duckdbPath });
    expect(report).toMatchObject({ frames: 1, foreign: 2, problems: [] });
    expect(await fixture.pinned()).toEqual([`${info.version}.parquet`]);
    old?.close();
    await restore();
    const [part = ''] = await fixture.parts('kept');
    expect(part).toContain(newer.version);
    const names = [
      '.format',
      'analytics.duckdb',
      basename(part),
      '00000000000000000000.json',
      'notes.json',
      'prices.csv',
    ];
    expect(await filesOf(restored)).toEqual(names.toSorted());
    expect(await readFile(join(restored, 'analytics.duckdb'), 'utf8')).toBe('database');
  });

  test('has logs that start with the whole table, also of frames that were merged', async () => {
    const store = await fixture.open({ mergeAbove: 1 });
    for (let i = 0; i < 40; i++) await store.append(refOf('t'), longFrame(1, { start: i }));
    await store.close();
    await backUp();
    await restore();
    const log = join(restored, 'cold/default/t/_delta_log');
    expect(await readdir(log)).toEqual(['00000000000000000000.json']);
    const lines = (await readFile(join(log, '00000000000000000000.json'), 'utf8')).trim().split('\n');
    const actions = lines.map((line) => JSON.parse(line) as Record<string, { path?: string; dataChange?: boolean }>);
    expect(actions.flatMap(Object.keys).slice(0, 3)).toEqual(['commitInfo', 'protocol', 'metaData']);
    const added = actions.flatMap(({ add }) => add ?? []);
    const parts = (await fixture.parts('t')).map((path) => basename(path));
    expect(added.map(({ path }) => String(path)).toSorted((a, b) => (a < b ? -1 : 1))).toEqual(parts);
    expect(added.every(({ dataChange }) => dataChange)).toBe(true);
  });

  test('of an empty directory is an empty directory', async () => {
    await (await fixture.open()).close();
    expect(await backUp()).toMatchObject({ frames: 0, problems: [] });
    await restore();
    expect(await withStore(restored, (store) => store.list('default'))).toEqual([]);
  });

  test('of a directory that no server has used is refused, and leaves nothing', async () => {
    await mkdir(join(folder, 'elsewhere', 'notes'), { recursive: true });
    const options = { directory: join(folder, 'elsewhere'), destination: backup };
    await expect(createBackup(options)).rejects.toThrow('has no frames, and no server has used it');
    await expect(readdir(backup)).rejects.toThrow('ENOENT');
  });

  test('may go to an empty directory, such as a new volume', async () => {
    await fixture.open();
    await backUp();
    await mkdir(join(restored, 'lost+found'), { recursive: true });
    await restore();
    expect((await readdir(restored)).toSorted()).toEqual(['cold', 'lost+found']);
  });

  test.skipIf(process.platform === 'win32')('is for its owner alone, as the backup is', async () => {
    await fixture.open();
    await backUp();
    await restore();
    for (const path of [backup, restored]) expect((await stat(path)).mode & 0o777, path).toBe(0o700);
  });
});

test(
  'backups among changes have whole frames, nothing older than acknowledged, and the right expiries',
  { tags: ['slow'] },
  () => backUpAmongChanges(fixture, { folder, backups: 4 }),
);

test('a frame with a missing part is a problem; the rest of it and all others are in the backup', async () => {
  const store = await fixture.open();
  await store.put(refOf('whole'), longFrame(1));
  await store.put(refOf('torn'), longFrame(1));
  await store.append(refOf('torn'), longFrame(1));
  await rm((await fixture.parts('torn'))[1] ?? '');
  const { frames, problems } = await backUp();
  expect({ frames, problems }).toEqual({
    frames: 2,
    problems: [expect.stringMatching(/^The frame "torn" is damaged: ".*\.parquet" is missing\.$/)],
  });
  await restore();
  expect(await withStore(restored, (again) => rowsOf(again, refOf('whole')))).toEqual([[0n]]);
});

test('a table of another program is a problem, and all frames are in the backup', async () => {
  const store = await fixture.open();
  await store.put(refOf('whole'), longFrame(1));
  const log = join(fixture.folder, 'other', '_delta_log');
  await mkdir(log, { recursive: true });
  await writeFile(join(log, '00000000000000000000.json'), '{"commitInfo":{}}\n');
  const { frames, problems } = await backUp();
  expect({ frames, problems }).toEqual({
    frames: 1,
    problems: [expect.stringMatching(/^The frame "other" is not in the backup\. .* written by another program\.$/)],
  });
});

test('a frame with a damaged entry keeps all of its files', async () => {
  const store = await fixture.open();
  await store.put(refOf('t'), longFrame(1));
  await store.append(refOf('t'), longFrame(1));
  await truncate(await fixture.entry('t'), 40);
  await backUp();
  const names = [...(await fixture.parts('t')), await fixture.entry('t')].map((path) => basename(path));
  expect(await filesOf(join(backup, 'cold/default/t'))).toEqual(names.toSorted());
});

describe('a damaged backup is refused, and nothing is restored:', () => {
  const frameIn = async () =>
    join(
      backup,
      'cold/default/t',
      (await readdir(join(backup, 'cold/default/t'))).find((name) => name.endsWith('.parquet'))!,
    );
  const flip = async (path: string, at: number) => {
    const bytes = await readFile(path);
    bytes[at] ^= 1;
    await writeFile(path, bytes);
  };
  const changeIndex = async (change: (text: string) => string) =>
    writeFile(join(backup, 'backup.json'), change(await readFile(join(backup, 'backup.json'), 'utf8')));

  test.each<[string, () => Promise<void>, RegExp]>([
    ['a flipped bit', async () => flip(await frameIn(), 100), /"cold\/default\/t\/.*" does not match its checksum/],
    ['a truncated file', async () => truncate(await frameIn(), 10), /does not match its checksum/],
    ['a longer file', async () => appendFile(await frameIn(), 'x'), /does not match its checksum/],
    ['a missing file', async () => rm(await frameIn()), /"cold\/default\/t\/.*" is missing/],
    [
      'a directory instead of a file',
      async () => {
        const path = await frameIn();
        await rm(path);
        await mkdir(path);
      },
      /is missing, or is not a regular file/,
    ],
    ['an index that is cut', () => truncate(join(backup, 'backup.json'), 200), /"backup.json" does not match/],
    ['an index that is empty', () => truncate(join(backup, 'backup.json')), /"backup.json" does not match/],
    [
      'an index with another checksum',
      () => changeIndex((text) => text.replace('"bytes":', '"bytes":1')),
      /does not match/,
    ],
    ['no index', () => rm(join(backup, 'backup.json')), /not a complete backup: it has no backup\.json/],
    ['a later format', () => changeIndex((text) => text.replace('"format":2', '"format":3')), /does not know/],
  ])('%s', async (_name, damage, message) => {
    const store = await fixture.open();
    for (const handle of ['t', 'u', 'v']) await store.put(refOf(handle), longFrame(50));
    await backUp();
    await damage();
    await expect(restore()).rejects.toMatchObject({ name: 'BackupError', message: expect.stringMatching(message) });
    await expect(readdir(restored)).rejects.toThrow('ENOENT');
  });

  test('a path that leads out of the directory, with the right checksum', async () => {
    await (await fixture.open()).put(refOf('t'), longFrame(1));
    await backUp();
    const { encodeIndex } = await import('../../src/store/backup/backup-index.ts');
    for (const path of [
      '../evil',
      'cold/../../evil',
      '/evil',
      'cold/default/../../evil',
      'other',
      'cold',
      'cold/a/b/c/d',
      'cold/a/b/_delta_log/c/d',
      'cold/.lock-1',
      'cold/default/.tmp',
    ]) {
      const files = [{ path, bytes: 1, sha256: '00' }];
      await writeFile(join(backup, 'backup.json'), encodeIndex({ created: new Date(), frames: 1, files }));
      await expect(restore(), path).rejects.toThrow('"backup.json" does not match its checksum');
    }
  });
});

describe('nothing is overwritten:', () => {
  test('a backup is not written to a directory that has anything in it', async () => {
    await fixture.open();
    await mkdir(backup);
    await writeFile(join(backup, 'mine'), '');
    await expect(backUp()).rejects.toThrow('is not empty');
    expect(await readdir(backup)).toEqual(['mine']);
  });

  test.each(['cold', '.format', 'x'])('a restore leaves a directory with %s alone', async (name) => {
    await fixture.open();
    await backUp();
    await mkdir(restored);
    await writeFile(join(restored, name), 'mine');
    await expect(restore()).rejects.toThrow('is not empty');
    expect(await readdir(restored)).toEqual([name]);
  });

  test.each(['', 'backup', 'default/backup'])('a backup is not written into the frames: %j', async (inside) => {
    await (await fixture.open()).put(refOf('t'), longFrame(1));
    const destination = join(fixture.directory, inside);
    await expect(createBackup({ directory: fixture.directory, destination })).rejects.toThrow(
      'inside of the directory',
    );
    expect(await readdir(fixture.directory)).not.toContain('backup');
  });

  test('a backup is not written into the frames through a link', async () => {
    await (await fixture.open()).put(refOf('t'), longFrame(1));
    await symlink(fixture.folder, join(folder, 'link'));
    const destination = join(folder, 'link', 'backup');
    await expect(createBackup({ directory: fixture.directory, destination })).rejects.toThrow(
      'inside of the directory',
    );
  });

  test('two restores to one directory at once: one is done, the other refused', async () => {
    const store = await fixture.open();
    for (let at = 0; at < 20; at++) await store.put(refOf(`t${at}`), longFrame(1));
    await backUp();
    const done = await Promise.allSettled([restore(), restore(), restore()]);
    expect(done.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await readdir(restored)).toEqual(['cold']);
    expect(await withStore(restored, (again) => again.list('default'))).toHaveLength(20);
  });
});

describe('a failure leaves nothing behind:', () => {
  const aborted = AbortSignal.abort(new Error('stop'));

  test('a cancelled backup', async () => {
    await (await fixture.open()).put(refOf('t'), longFrame(1));
    const options = { directory: fixture.directory, destination: backup, signal: aborted };
    await expect(createBackup(options)).rejects.toThrow('stop');
    expect(await readdir(folder)).toEqual([]);
  });

  test('a cancelled restore', async () => {
    await (await fixture.open()).put(refOf('t'), longFrame(1));
    await backUp();
    await expect(restoreBackup({ backup, directory: restored, signal: aborted })).rejects.toThrow('stop');
    expect(await readdir(folder)).toEqual(['backup']);
  });

  test('what an interrupted restore left is removed by the next one', async () => {
    await (await fixture.open()).put(refOf('t'), longFrame(1));
    await backUp();
    await mkdir(join(restored, '.restore-0123/cold/default'), { recursive: true });
    await restore();
    expect(await readdir(restored)).toEqual(['cold']);
  });
});
