import { existsSync } from 'node:fs';
import fs, { cp, link, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { parseHandle } from '@svc/frames';
import { longFrame, readRows } from '@svc/frames/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { FRAME_CODEC } from '../../src/store/log/frame-entry.ts';
import type { StoreProblem } from '../../src/store/catalogue/store-problem.ts';
import { createArrowFrameFiles } from '../../src/testing/arrow-frame-files.ts';
import {
  createStoreFixture,
  listDescribed,
  refOf,
  rowsOf,
  type StoreFixture,
} from '../../src/testing/store-fixture.ts';

let fixture: StoreFixture;
const trades = refOf('trades');

beforeEach(async () => {
  fixture = await createStoreFixture();
});

afterEach(async () => {
  vi.useRealTimers();
  await fixture.remove();
});

const at = (time: number): string => `${time.toString().padStart(10, '0')}${'0'.repeat(16)}`;

/** Writes a version as an earlier process would have left it. */
async function leaveVersion(name: string, rows: number): Promise<void> {
  await mkdir(fixture.folder, { recursive: true });
  await createArrowFrameFiles().write(join(fixture.folder, name), longFrame(rows), { compression: 'none' });
}

const leave = (name: string, text = ''): Promise<void> => writeFile(join(fixture.folder, name), text);

describe('after a restart', () => {
  test('a frame is unchanged', async () => {
    const store = await fixture.open();
    const { info } = await store.put(trades, longFrame(3), { ttlSeconds: 100 });
    await store.close();
    const again = await fixture.open();
    expect(await again.describe(trades)).toEqual({ ...info, tier: 'disk' });
    expect(await rowsOf(again, trades)).toEqual([[0n], [1n], [2n]]);
    expect(await again.usage()).toMatchObject({ frames: 1, bytes: info.bytes });
  });

  test('a replaced version, its expiry and all unfinished files are gone', async () => {
    const store = await fixture.open();
    await store.put(trades, longFrame(1), { ttlSeconds: 100 });
    const { info } = await store.put(trades, longFrame(2));
    await store.close();
    expect(await fixture.names()).toEqual([`trades/${info.version}.parquet`]);
    await leave('.tmp-1', 'half');
    await leave(`trades@${at(1)}.json`, '{}');
    await leaveVersion(`trades@${at(1)}.parquet`, 7);
    const again = await fixture.open();
    expect(await fixture.names()).toEqual([`trades/${info.version}.parquet`]);
    expect(await rowsOf(again, trades)).toHaveLength(2);
  });

  test('files that are not ours stay', async () => {
    await mkdir(join(fixture.directory, 'lost+found'));
    await mkdir(fixture.folder);
    const names = ['.notes', 'README', `a b@${at(1)}.parquet`, 'x@y.parquet'];
    for (const name of names) await leave(name);
    await (await fixture.open()).close();
    expect(await fixture.names()).toEqual(names.toSorted());
    expect(await readdir(fixture.directory)).toContain('lost+found');
  });

  test('a folder that is a symbolic link is read', async () => {
    const elsewhere = join(fixture.directory, 'Elsewhere');
    await mkdir(elsewhere);
    await symlink(elsewhere, fixture.folder);
    const store = await fixture.open();
    await store.put(trades, longFrame(2));
    await store.close();
    expect(await rowsOf(await fixture.open(), trades)).toHaveLength(2);
    expect(await readdir(elsewhere)).toHaveLength(1);
  });

  test('the newest frame is described ahead, once for all who ask', async () => {
    await leaveVersion(`older@${at(5)}.parquet`, 5);
    await leaveVersion(`newest@${at(7)}.parquet`, 7);
    await leaveVersion(`middle@${at(6)}.parquet`, 6);
    const files = createArrowFrameFiles();
    const described = vi.spyOn(files, 'describe');
    const store = await fixture.open({ files });
    const [isThere, info] = await Promise.all([store.describeNewest(), store.describe(refOf('newest'))]);
    expect([isThere, info]).toMatchObject([true, { handle: 'newest', rows: 7 }]);
    await rowsOf(store, refOf('newest'));
    // By the takeover, not by any of the reads.
    expect(described).toHaveBeenCalledTimes(3);
  });

  test('there may be no frame to describe ahead', async () => {
    const store = await fixture.open();
    expect(await store.describeNewest()).toBe(false);
  });

  test('the newest version counts, whatever the case of its handle', async () => {
    await leaveVersion(`trades@${at(5)}.parquet`, 5);
    await leaveVersion(`Trades@${at(6)}.parquet`, 6);
    const store = await fixture.open();
    expect(await listDescribed(store)).toMatchObject([{ handle: 'Trades', rows: 6 }]);
    expect(await fixture.names()).toEqual([`trades/${at(6)}.parquet`]);
  });

  test('a version is greater than those on disk even if the clock is behind', async () => {
    await leaveVersion(`trades@${at(5)}.parquet`, 1);
    const store = await fixture.open({ now: () => 1 });
    const { info } = await store.put(trades, longFrame(2));
    expect(info.version > at(5)).toBe(true);
    await store.close();
    expect(await rowsOf(await fixture.open({ now: () => 1 }), trades)).toHaveLength(2);
  });
});

describe('what a process that was killed has left is removed', () => {
  const { unlink } = fs;

  /** Files of frames cannot be removed from now on. */
  function keepFiles(): void {
    const refused = async (path: string): Promise<void> => {
      if (path.startsWith(fixture.folder)) throw Object.assign(new Error('EIO'), { code: 'EIO' });
      await unlink(path);
    };
    Object.assign(fs, { unlink: refused });
    syncBuiltinESMExports();
  }

  function allowRemovals(): void {
    Object.assign(fs, { unlink });
    syncBuiltinESMExports();
  }

  afterEach(allowRemovals);

  /** Copies the directory as it is now, and lists the frames of the copy. */
  async function namesAfterKill(folders: readonly string[] = []): Promise<readonly string[]> {
    const copy = await createStoreFixture();
    onTestFinished(() => copy.remove());
    await cp(fixture.folder, copy.folder, { recursive: true });
    const store = await copy.open();
    await store.list('default');
    await store.close();
    const inside = folders.map(async (name) =>
      (await readdir(join(copy.folder, name))).map((file) => `${name}/${file}`),
    );
    return [...(await copy.names()), ...(await Promise.all(inside)).flat()];
  }

  test('before the files of a replaced version were removed', async () => {
    const store = await fixture.open();
    await store.put(trades, longFrame(1));
    keepFiles();
    const { info } = await store.put(trades, longFrame(2));
    expect(await fixture.names()).toHaveLength(2);
    allowRemovals();
    expect(await namesAfterKill()).toEqual([`trades/${info.version}.parquet`]);
  });

  test('before the files of a dropped frame were removed', async () => {
    const store = await fixture.open();
    await store.put(trades, longFrame(1));
    keepFiles();
    await store.drop(trades);
    await store.close();
    expect(await fixture.names()).toHaveLength(1);
    allowRemovals();
    expect(await namesAfterKill()).toEqual([]);
  });

  test('between the parts and the entry of a version', async () => {
    const store = await fixture.open();
    const { info } = await store.put(trades, longFrame(1));
    const unfinished = join(fixture.folder, 'trades', '_delta_log', 'x.unfinished');
    await writeFile(unfinished, '');
    const [part = ''] = await fixture.parts('trades');
    await link(part, part.replace(/-[0-9a-f]{8}(?=\.parquet)/, '-00000000'));
    expect(await namesAfterKill(['trades/_delta_log'])).toEqual([
      `trades/${info.version}.parquet`,
      'trades/_delta_log/00000000000000000000.json',
      // It changes nothing, but keeps any process that is still alive from naming the part.
      'trades/_delta_log/00000000000000000001.json',
    ]);
  });

  test('before the first entry of a frame', async () => {
    const store = await fixture.open();
    const { info } = await store.put(trades, longFrame(1));
    await mkdir(join(fixture.folder, 'quotes', '_delta_log'), { recursive: true });
    const [part = ''] = await fixture.parts('trades');
    await link(part, join(fixture.folder, 'quotes', basename(part)));
    expect(await namesAfterKill()).toEqual([`trades/${info.version}.parquet`]);
  });
});

test('a handle that ends as unfinished files do is one like any other', async () => {
  const store = await fixture.open();
  await store.put(refOf('x.unfinished'), longFrame(2));
  await store.close();
  expect(await rowsOf(await fixture.open(), refOf('x.unfinished'))).toHaveLength(2);
});

test('a process that only reads sees a frame that was dropped and put again', async () => {
  const store = await fixture.open();
  await store.put(trades, longFrame(1));
  const reader = await fixture.open({ isReadOnly: true, cacheBytes: 0 });
  expect(await rowsOf(reader, trades)).toHaveLength(1);
  await store.drop(trades);
  await expect.poll(() => fixture.names()).toEqual([]);
  await store.put(trades, longFrame(2));
  expect(await rowsOf(reader, trades)).toHaveLength(2);
});

describe('a dropped frame', () => {
  test('leaves nothing behind', async () => {
    const store = await fixture.open();
    await store.put(trades, longFrame(1), { ttlSeconds: 50 });
    expect(await store.drop(trades)).toBe(true);
    await store.close();
    expect(await fixture.names()).toEqual([]);
  });

  test('keeps the files of an older version while it is being read', async () => {
    const store = await fixture.open();
    const first = await store.put(trades, longFrame(1));
    const frame = await store.open(trades);
    await store.put(trades, longFrame(2));
    await store.drop(trades);
    await expect.poll(() => fixture.names()).toEqual([]);
    expect(await fixture.pinned()).toEqual([`${first.info.version}.parquet`]);
    expect(await rowsOf(await fixture.open({ isReadOnly: true }), trades)).toBeUndefined();
    expect(await readRows(frame!.read())).toHaveLength(1);
    frame?.close();
    await store.close();
    expect(await fixture.names()).toEqual([]);
  });

  test('does not come back if its process died before the files were removed', async () => {
    await leaveVersion(`trades@${at(1)}.parquet`, 1);
    await leaveVersion(`trades@${at(2)}.parquet`, 2);
    await leave(`trades@${at(2)}.dropped`);
    const store = await fixture.open({ now: () => 1 });
    expect(await store.describe(trades)).toBeUndefined();
    expect(await fixture.names()).toEqual([]);
  });

  test('does not hide a frame that was put after it', async () => {
    await leaveVersion(`trades@${at(1)}.parquet`, 1);
    await leave(`Trades@${at(2)}.dropped`);
    await leaveVersion(`trades@${at(3)}.parquet`, 3);
    const store = await fixture.open();
    expect(await rowsOf(store, trades)).toHaveLength(3);
    expect(await fixture.names()).toEqual([`trades/${at(3)}.parquet`]);
  });

  test('can be put again at once, even if the clock is behind', async () => {
    let time = 5000;
    const store = await fixture.open({ now: () => time });
    await store.put(trades, longFrame(1));
    const frame = await store.open(trades);
    await store.drop(trades);
    time = 1;
    expect((await store.put(trades, longFrame(2))).created).toBe(true);
    frame?.close();
    await store.close();
    expect(await rowsOf(await fixture.open(), trades)).toHaveLength(2);
  });
});

describe('the expiry of a frame', () => {
  test('takes effect while no process runs', async () => {
    let time = 1000;
    const now = (): number => time;
    const store = await fixture.open({ now });
    await store.put(trades, longFrame(1), { ttlSeconds: 10 });
    await store.put(refOf('quotes'), longFrame(1), { ttlSeconds: 10 });
    await store.expire(refOf('quotes'), 100);
    await store.close();
    time += 10_000;
    const again = await fixture.open({ now });
    expect(await again.list('default')).toMatchObject([{ handle: 'quotes', expires: new Date(101_000) }]);
    expect(await again.describe(trades)).toBeUndefined();
    await again.close();
    expect((await fixture.names()).filter((name) => name.startsWith('trades'))).toEqual([]);
  });

  test('can be removed, also after a restart', async () => {
    const store = await fixture.open();
    await store.put(trades, longFrame(1), { ttlSeconds: 10 });
    await store.expire(trades, null);
    await store.close();
    expect((await (await fixture.open()).describe(trades))?.expires).toBeNull();
  });

  test('of a version that was never published affects no other', async () => {
    await leaveVersion(`trades@${at(1)}.parquet`, 1);
    await leave(`trades@${at(2)}.json`, '{"expires":"2001-01-01T00:00:00.000Z"}');
    const store = await fixture.open();
    expect(await rowsOf(store, trades)).toHaveLength(1);
    expect(await fixture.names()).toEqual([`trades/${at(1)}.parquet`]);
  });

  test('that cannot be read is reported, and the frame stays', async () => {
    await leaveVersion(`trades@${at(1)}.parquet`, 1);
    await leave(`trades@${at(1)}.json`, '{"expires":"soon"}');
    const problems: StoreProblem[] = [];
    const store = await fixture.open({ onProblem: (problem) => problems.push(problem) });
    expect(await rowsOf(store, trades)).toHaveLength(1);
    expect(problems).toMatchObject([{ kind: 'unreadable_expiry', handle: 'trades' }]);
  });
});

test('a frame of format 1 whose file is damaged is reported, and taken over when the file is restored', async () => {
  await leaveVersion(`b@${at(1)}.parquet`, 1);
  await leave(`a@${at(1)}.parquet`, 'not a frame');
  const problems: StoreProblem[] = [];
  const store = await fixture.open({ onProblem: (problem) => problems.push(problem) });
  expect(await listDescribed(store, { limit: 1 })).toMatchObject([{ handle: 'b' }]);
  expect(problems).toMatchObject([{ kind: 'damaged_frame', handle: 'a' }]);
  expect(await store.faults()).toMatchObject([{ kind: 'damaged_frame', tenant: 'default', handle: 'a' }]);
  for (const change of [store.open(refOf('a')), store.put(refOf('a'), longFrame(1)), store.drop(refOf('a'))]) {
    await expect(change).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining('"a"') });
  }
  await store.close();
  expect(await fixture.names()).toEqual([`a@${at(1)}.parquet`, `b/${at(1)}.parquet`]);
  await leaveVersion('restored', 3);
  await rename(join(fixture.folder, 'restored'), join(fixture.folder, `a@${at(1)}.parquet`));
  expect(await rowsOf(await fixture.open(), refOf('a'))).toHaveLength(3);
});

test('a page of a list looks at no file of a frame', async () => {
  const writer = await fixture.open();
  await writer.put(refOf('f-000'), longFrame(1));
  await writer.close();
  const [part = ''] = await fixture.parts('f-000');
  const { state } = FRAME_CODEC.decode(await readFile(await fixture.entry('f-000')));
  for (let i = 1; i < 1000; i++) {
    const handle = parseHandle(`f-${String(i).padStart(3, '0')}`);
    const folder = join(fixture.folder, handle);
    await mkdir(join(folder, '_delta_log'), { recursive: true });
    await link(part, join(folder, basename(part)));
    const entry = FRAME_CODEC.encode({ id: handle, recent: [], state: { ...state, handle } }, undefined);
    await writeFile(join(folder, '_delta_log', '00000000000000000000.json'), entry);
  }
  const files = createArrowFrameFiles();
  const store = await fixture.open({ files });
  const page = await listDescribed(store, { prefix: 'f-0', after: 'f-049', limit: 3 });
  expect(page.map(({ handle }) => handle)).toEqual(['f-050', 'f-051', 'f-052']);
  expect(await store.usage()).toMatchObject({ frames: 1000 });
  expect(await listDescribed(store)).toHaveLength(1000);
  expect(files.described).toEqual([]);
});

describe('the folder of a frame', () => {
  beforeEach(async () => {
    const store = await fixture.open();
    await store.put(trades, longFrame(1));
    await store.append(trades, longFrame(1));
    await store.close();
  });

  test('that was copied under another name is damaged, can be dropped, and the frame itself is not affected', async () => {
    await cp(join(fixture.folder, 'trades'), join(fixture.folder, 'copy'), { recursive: true });
    const store = await fixture.open();
    await expect(store.open(refOf('copy'))).rejects.toMatchObject({
      code: 'internal',
      cause: expect.objectContaining({ message: expect.stringContaining('is one of the frame "trades"') }),
    });
    expect(await rowsOf(store, trades)).toHaveLength(2);
    expect(await fixture.parts('copy')).toHaveLength(2);
    expect(await store.drop(refOf('copy'))).toBe(true);
    expect(await store.open(refOf('copy'))).toBeUndefined();
  });

  test('whose files are all links is read', async () => {
    const linked = join(fixture.folder, 'linked');
    await rename(join(fixture.folder, 'trades'), linked);
    await mkdir(join(fixture.folder, 'trades/_delta_log'), { recursive: true });
    for (const name of await readdir(linked, { recursive: true })) {
      const folder = join(fixture.folder, 'trades', dirname(name));
      // Relative, so that they lead to the files only from there.
      if (name !== '_delta_log') await symlink(relative(folder, join(linked, name)), join(folder, basename(name)));
    }
    const store = await fixture.open({ cacheBytes: 0 });
    expect(await rowsOf(store, trades)).toHaveLength(2);
    await store.append(trades, longFrame(1));
    await store.close();
    expect(await rowsOf(await fixture.open(), trades)).toHaveLength(3);
  });

  test('loses no part while something that is no file has the name of an entry', async () => {
    const entry = await fixture.entry('trades');
    await rename(entry, join(fixture.folder, 'newest'));
    await mkdir(entry);
    const store = await fixture.open();
    expect(await rowsOf(store, trades)).toHaveLength(1);
    await expect(store.append(trades, longFrame(1))).rejects.toMatchObject({
      message: expect.stringContaining('is not a file'),
    });
    await store.close();
    expect(await fixture.parts('trades')).toHaveLength(2);
  });

  test.each(['trades', 'dropped'])('of %s has no entry that a process before did not complete', async (handle) => {
    const log = join(fixture.folder, handle, '_delta_log');
    await mkdir(log, { recursive: true });
    const left = join(log, '00000000000000000009.json.0123456789abcdef.unfinished');
    await writeFile(left, 'half');
    const store = await fixture.open();
    await store.open(refOf(handle)).then((frame) => frame?.close());
    await store.close();
    expect(existsSync(left)).toBe(false);
    expect(existsSync(log)).toBe(handle === 'trades');
  });
});

test.each(['left', 'left/_delta_log'])('the empty folder %s of a process that was killed goes', async (folder) => {
  await mkdir(join(fixture.folder, folder), { recursive: true });
  const store = await fixture.open();
  expect(await listDescribed(store)).toEqual([]);
  await store.close();
  expect(await readdir(fixture.folder)).toEqual([]);
});

test('a folder of others with the name of a handle stays', async () => {
  await mkdir(join(fixture.folder, 'notes'), { recursive: true });
  await writeFile(join(fixture.folder, 'notes/today.txt'), 'not ours');
  const store = await fixture.open();
  expect(await store.open(refOf('notes'))).toBeUndefined();
  await store.put(refOf('notes'), longFrame(1));
  await store.drop(refOf('notes'));
  await store.close();
  expect(await readdir(join(fixture.folder, 'notes'))).toEqual(['today.txt']);
});
