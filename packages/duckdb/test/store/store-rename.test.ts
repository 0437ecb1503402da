import { cp, open, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDirectoryObjects } from '@svc/objects';
import { parseHandle } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { FRAME_CODEC } from '../../src/store/log/frame-entry.ts';
import { createFrameLog } from '../../src/store/log/frame-log.ts';
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
    const inodes = async (handle: string) =>
      new Set(await Promise.all((await fixture.parts(handle)).map(async (path) => (await stat(path)).ino)));
    const before = await inodes('a');
    await rename(store);
    await store.close();
    expect(await inodes('b')).toEqual(before);
    expect(await readdir(fixture.folder)).toEqual(['b']);
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

  /** Makes the files as they are when a rename is interrupted, if its log says that the frame goes to `handle`. */
  async function interrupt(handle: string, id?: string): Promise<void> {
    const store = await fixture.open();
    await put(store);
    await cp(join(fixture.folder, 'a'), join(fixture.directory, '.kept'), { recursive: true });
    await rename(store);
    await store.close();
    await cp(join(fixture.directory, '.kept'), join(fixture.folder, 'a'), { recursive: true });
    const arrived = (await logOf('b').newest())?.state.from?.id;
    const moving = { handle: parseHandle(handle), id: id ?? arrived ?? '' };
    await logOf('a').change(async (now) => now && { ...now, isSame: true, moving });
  }

  const logOf = (handle: string) =>
    createFrameLog({
      objects: createDirectoryObjects(fixture.folder),
      prefix: `${handle}/_delta_log/`,
      codec: FRAME_CODEC,
    });

  test.each(['the old', 'the new'])(
    'is renamed if the process ends when the target is there: %s is read first',
    async (first) => {
      await interrupt('b');
      const store = await fixture.open();
      await rowsOf(store, first === 'the old' ? a : b);
      expect(await both(store)).toEqual([undefined, rows]);
      await store.put(b, longFrame(0));
      await store.close();
      expect(await both(await fixture.open())).toEqual([undefined, []]);
    },
  );

  test.each(['put', 'drop'])(
    'does not come back if the target is changed by %s before anyone reads the source',
    async (change) => {
      await interrupt('b');
      const store = await fixture.open();
      await (change === 'put' ? store.put(b, longFrame(0)) : store.drop(b));
      await store.close();
      expect(await both(await fixture.open())).toEqual([undefined, change === 'put' ? [] : undefined]);
    },
  );

  test('is renamed for a reader of the directory, which changes nothing', async () => {
    await interrupt('b');
    const before = await fixture.names();
    expect(await both(await fixture.open({ isReadOnly: true }))).toEqual([undefined, rows]);
    expect(await fixture.names()).toEqual(before);
  });

  test.each([
    ['has another frame', 'b', 'another-move'],
    ['has none', 'c', undefined],
  ])('keeps its name if the target %s', async (_name, target, id) => {
    await interrupt(target, id);
    const store = await fixture.open();
    expect(await both(store)).toEqual([rows, rows]);
    await store.put(a, longFrame(0));
    await store.close();
    expect(await both(await fixture.open())).toEqual([[], rows]);
  });

  test.each([1, 2, 3, 4, 5, 6])(
    'has one of the names, and the same after a restart, if flush %i of a directory fails',
    async (at) => {
      const store = await fixture.open();
      await put(store);
      const restore = await failFlush(at);
      await rename(store).catch(() => {});
      expect(restore()).toBe(true);
      const found = await both(store);
      expect([
        [rows, undefined],
        [undefined, rows],
      ]).toContainEqual(found);
      await store.close();
      expect(await both(await fixture.open())).toEqual(found);
      expect((await fixture.names()).filter((name) => name.startsWith('.tmp'))).toEqual([]);
    },
  );
});

test.each<[string, (store: Store) => Promise<unknown>]>([
  ['expire', (store) => store.expire(a, 60)],
  ['append', (store) => store.append(a, longFrame(1, { start: 1 }))],
  ['put', (store) => store.put(a, longFrame(1))],
  ['rename', (store) => rename(store, 'c')],
  ['drop', (store) => store.drop(a)],
])('a frame can be changed by %s after a refused rename to the name of a file', async (_, change) => {
  const store = await fixture.open();
  await store.put(a, longFrame(1));
  await writeFile(join(fixture.folder, 'b'), '');
  await expect(rename(store)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await rowsOf(store, a)).toHaveLength(1);
  expect(await change(store)).toBeTruthy();
});

/** Makes one flush of a directory fail: the first one has number 1. The result ends that, and returns true if it has failed. */
async function failFlush(number: number): Promise<() => boolean> {
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
  return () => {
    spy.mockRestore();
    return flushes >= number;
  };
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
