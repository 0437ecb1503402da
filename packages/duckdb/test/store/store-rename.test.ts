import { copyFile, mkdir, open, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseHandle } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

const TTL = { ttlSeconds: 100_000 };
const [a, b] = [refOf('a'), refOf('b')];
let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await createStoreFixture();
});
afterEach(() => fixture.remove());

type Store = Awaited<ReturnType<StoreFixture['open']>>;

const rename = (store: Store, to = 'b') => store.rename(a, parseHandle(to));
const both = async (store: Store): Promise<unknown> =>
  Promise.all([a, b].map(async (ref) => (await rowsOf(store, ref))?.flat()));

/** The frame `a` before it is renamed: its rows. */
const FRAMES: readonly [string, (store: Store) => Promise<unknown>, readonly bigint[]][] = [
  ['one file', (store) => store.put(a, longFrame(2), TTL), [0n, 1n]],
  [
    'parts',
    async (store) => {
      await store.put(a, longFrame(1), TTL);
      await store.append(a, longFrame(1, { start: 7 }));
    },
    [0n, 7n],
  ],
];

describe.each(FRAMES)('a frame of %s', (_kind, put, rows) => {
  test('keeps its files, which have only the new name', async () => {
    const store = await fixture.open();
    await put(store);
    const inodes = async () =>
      new Set(await Promise.all((await files()).map(async (name) => (await stat(join(fixture.folder, name))).ino)));
    const files = async () => (await fixture.names()).filter((name) => name.endsWith('.parquet'));
    const before = await inodes();
    await rename(store);
    await store.close();
    expect(await inodes()).toEqual(before);
    expect((await fixture.names()).filter((name) => !name.startsWith('b@'))).toEqual([]);
    const again = await fixture.open();
    expect(await both(again)).toEqual([undefined, rows]);
    expect((await again.describe(b))?.expires).not.toBeNull();
  });

  test('stays in memory', async () => {
    const store = await fixture.open({ cacheBytes: 1_000_000 });
    await put(store);
    await rowsOf(store, a);
    await expect.poll(async () => (await store.describe(a))?.tier).toBe('memory');
    expect((await rename(store))?.tier).toBe('memory');
    expect(await both(store)).toEqual([undefined, rows]);
  });

  /** Makes the files as they are when a rename is interrupted after its target was published. */
  async function interrupt(): Promise<string> {
    const store = await fixture.open();
    await put(store);
    const { version } = (await store.describe(a))!;
    const kept = join(fixture.directory, '.kept');
    await mkdir(kept);
    for (const name of await fixture.names()) await copyFile(join(fixture.folder, name), join(kept, name));
    const target = await rename(store);
    await store.close();
    for (const name of await readdir(kept)) await copyFile(join(kept, name), join(fixture.folder, name));
    const move = `a@${version}.moved`;
    await writeFile(join(fixture.folder, move), JSON.stringify({ handle: 'b', version: target?.version }));
    return move;
  }

  const moves = async () => (await fixture.names()).filter((name) => /moved|dropped/.test(name));

  test('is renamed if the process ends when the target is published', async () => {
    await interrupt();
    const store = await fixture.open();
    expect(await both(store)).toEqual([undefined, rows]);
    await store.put(b, longFrame(0));
    await store.close();
    expect(await both(await fixture.open())).toEqual([undefined, []]);
    expect((await fixture.names()).filter((name) => name.startsWith('a@'))).toEqual([]);
  });

  test('is renamed for a reader of the directory, which changes nothing', async () => {
    await interrupt();
    const before = await fixture.names();
    expect(await both(await fixture.open({ isReadOnly: true }))).toEqual([undefined, rows]);
    expect(await fixture.names()).toEqual(before);
  });

  test.each(['', '{"handle":"b"}', '{"handle":"../b","version":"1"}', '{"handle":"c","version":"1"}'])(
    'keeps its name if the target is not published: %s',
    async (text) => {
      const move = await interrupt();
      await writeFile(join(fixture.folder, move), text);
      expect(await both(await fixture.open())).toEqual([rows, rows]);
      expect(await moves()).toEqual([]);
    },
  );

  test('keeps its name if another version replaced the target', async () => {
    const move = await interrupt();
    const version = move.slice(2, -6);
    await writeFile(join(fixture.folder, move), JSON.stringify({ handle: 'b', version }));
    expect(await both(await fixture.open())).toEqual([rows, rows]);
    expect(await moves()).toEqual([]);
  });

  test.each([1, 2, 3, 4])('keeps its name, also after a restart, if flush %i of the directory fails', async (at) => {
    const store = await fixture.open();
    await put(store);
    const restore = await failFlush(at);
    await expect(rename(store)).rejects.toThrow();
    restore();
    expect(await both(store)).toEqual([rows, undefined]);
    expect((await fixture.names()).filter((name) => /^(b@|\.tmp)|moved|dropped/.test(name))).toEqual([]);
    await store.close();
    expect(await both(await fixture.open())).toEqual([rows, undefined]);
  });
});

/** Makes one flush of a directory fail: the first one has number 1. */
async function failFlush(number: number): Promise<() => void> {
  const directory = await open(fixture.folder);
  const prototype = Object.getPrototypeOf(directory) as typeof directory;
  await directory.close();
  const sync = Reflect.get(prototype, 'sync');
  let flushes = 0;
  const spy = vi.spyOn(prototype, 'sync').mockImplementation(async function failing(this: typeof directory) {
    const isFailing = (await this.stat()).isDirectory() && (flushes += 1) === number;
    if (isFailing) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    return sync.call(this);
  });
  onTestFinished(() => spy.mockRestore());
  return () => spy.mockRestore();
}

test('a list has a frame once while it is renamed', async () => {
  const store = await fixture.open();
  await store.put(a, longFrame(1));
  const done = new AbortController();
  const renaming = (async () => {
    for (let i = 0; i < 10; i += 1) {
      await rename(store);
      await store.rename(b, parseHandle('a'));
    }
  })().finally(() => done.abort());
  const counts = new Set<number>();
  while (!done.signal.aborted) counts.add((await store.list('default')).length);
  await renaming;
  expect([...counts]).toEqual([1]);
});

test('a file that was copied into the directory keeps its name, and no frame can get it', async () => {
  const store = await fixture.open();
  await store.put(b, longFrame(1));
  await writeFile(join(fixture.folder, 'a.csv'), 'id\n1\n');
  await expect(rename(store, 'c')).rejects.toMatchObject({ code: 'permission_denied' });
  await expect(store.rename(b, parseHandle('a'))).rejects.toMatchObject({ code: 'permission_denied' });
});

test('a store that only reads renames nothing', async () => {
  await (await fixture.open()).put(a, longFrame(1));
  await expect(rename(await fixture.open({ isReadOnly: true }))).rejects.toMatchObject({ code: 'permission_denied' });
});
