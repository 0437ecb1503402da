import { mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createDecoders } from '@svc/frames';
import { withResolvers } from '@svc/frames/async';
import { longFrame } from '@svc/frames/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { FrameFiles } from '../../src/files/frame-files.ts';
import { createArrowFrameFiles } from '../../src/testing/arrow-frame-files.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

const trades = refOf('trades');
let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await createStoreFixture();
});
afterEach(() => fixture.remove());

/** Files whose operation `name` reports that it has begun, and waits until it is let go. */
function createGate(name: 'write') {
  const begun = withResolvers<void>();
  const gate = withResolvers<void>();
  const files = createArrowFrameFiles();
  const held = async (...args: never[]): Promise<unknown> => {
    begun.resolve();
    await gate.promise;
    return (files[name] as (...all: never[]) => unknown)(...args);
  };
  return { files: { ...files, [name]: held } as FrameFiles, begun: begun.promise, letGo: () => gate.resolve() };
}

/** Long enough for appends of few rows to wait for others. */
async function someTurns(): Promise<void> {
  for (let i = 0; i < 100; i += 1) await nextTurn();
}

test('an append in another spelling of a handle, refused among others, does not rename the frame', async () => {
  const { files, begun, letGo } = createGate('write');
  const store = await fixture.open({ files });
  const first = store.append(trades, longFrame(2));
  await begun;
  const refused = store.append(refOf('TRADES'), longFrame(1, { start: 5 }));
  const settled = refused.then(
    () => 'done',
    (error: unknown) => (error as { code: string }).code,
  );
  await someTurns();
  const last = store.append(trades, longFrame(1, { start: 9 }));
  await someTurns();
  letGo();
  expect((await first).created).toBe(true);
  expect(await settled).toBe('handle_exists');
  expect((await last).info).toMatchObject({ handle: 'trades', rows: 3 });
  await store.close();
  const again = await fixture.open();
  expect((await rowsOf(again, trades))?.flat()).toEqual([0n, 1n, 9n]);
});

describe('a frame whose newest entry is damaged', () => {
  beforeEach(async () => {
    const store = await fixture.open();
    await store.put(trades, longFrame(2));
    await store.append(trades, longFrame(1, { start: 9 }));
    await store.close();
    const path = await fixture.entry('trades');
    await writeFile(path, (await readFile(path, 'utf8')).slice(0, 40));
  });

  test('is gone after a drop and a restart, with all of its files', async () => {
    const store = await fixture.open();
    await expect(rowsOf(store, trades)).rejects.toMatchObject({ code: 'internal' });
    await store.drop(trades);
    await store.close();
    expect(await fixture.names()).toEqual([]);
    expect(await rowsOf(await fixture.open(), trades)).toBeUndefined();
  });

  test('is intact after a put, and gone after a drop of the new version', async () => {
    const store = await fixture.open();
    await expect(rowsOf(store, trades)).rejects.toMatchObject({ code: 'internal' });
    await store.put(trades, longFrame(1, { start: 7 }));
    expect((await rowsOf(store, trades))?.flat()).toEqual([7n]);
    expect(await store.faults()).toEqual([]);
    await store.drop(trades);
    await store.close();
    expect(await rowsOf(await fixture.open(), trades)).toBeUndefined();
  });
});

describe('if the directory cannot be flushed', () => {
  /** Makes flushes of directories fail, but not those of files. */
  async function failFlushes(): Promise<() => void> {
    const directory = await open(fixture.folder);
    const prototype = Object.getPrototypeOf(directory) as typeof directory;
    await directory.close();
    const sync = Reflect.get(prototype, 'sync');
    const spy = vi.spyOn(prototype, 'sync').mockImplementation(async function failing(this: typeof directory) {
      if ((await this.stat()).isDirectory()) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
      return sync.call(this);
    });
    onTestFinished(() => spy.mockRestore());
    return () => spy.mockRestore();
  }

  test.each(['drop', 'expire'])(
    'it is not known if a frame was changed by %s, and a restart finds what the store finds',
    { tags: ['slow'] },
    async (change) => {
      const store = await fixture.open();
      await store.put(trades, longFrame(1));
      const restore = await failFlushes();
      const changing = change === 'drop' ? store.drop(trades) : store.expire(trades, 1000);
      await expect(changing).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('not known'),
      });
      restore();
      const found = [await rowsOf(store, trades), (await store.describe(trades))?.expires];
      await store.close();
      const again = await fixture.open();
      expect([await rowsOf(again, trades), (await again.describe(trades))?.expires]).toEqual(found);
    },
  );

  test('it is not known if a frame was created, and reads find what a restart does', { tags: ['slow'] }, async () => {
    const store = await fixture.open();
    await store.put(refOf('other'), longFrame(1));
    await store.close();
    const again = await fixture.open();
    const restore = await failFlushes();
    const putting = again.put(trades, longFrame(1));
    await expect(putting).rejects.toThrow();
    restore();
    const found = await rowsOf(again, trades);
    expect((await again.list('default')).some(({ handle }) => handle === 'trades')).toBe(found !== undefined);
    await again.close();
    expect(await rowsOf(await fixture.open(), trades)).toEqual(found);
  });
});

test('a converted copy of a file of others goes when someone asks for the deleted file', async () => {
  const decoders = createDecoders();
  onTestFinished(() => decoders.close());
  await mkdir(fixture.folder);
  const store = await fixture.open({ decoders });
  const path = join(fixture.folder, 'day.json');
  await writeFile(path, '[{"id":1}]');
  expect(await rowsOf(store, refOf('day'))).toHaveLength(1);
  await rm(path);
  expect(await rowsOf(store, refOf('day'))).toBeUndefined();
  await expect.poll(() => readdir(fixture.folder)).toEqual([]);
});

test('an append after two whose log could not be read gets its turn', async () => {
  const before = await fixture.open();
  await before.put(trades, longFrame(1));
  await before.close();
  const { files, begun, letGo } = createGate('write');
  const store = await fixture.open({ files });
  const first = store.append(trades, longFrame(1, { start: 1 }));
  await begun;
  const second = store.append(trades, longFrame(1, { start: 2 }));
  await someTurns();
  const entry = await fixture.entry('trades');
  const bytes = await readFile(entry);
  await writeFile(entry, '{"commitInfo":{}}\n');
  letGo();
  for (const refused of [first, second]) await expect(refused).rejects.toMatchObject({ code: 'invalid_data' });
  await writeFile(entry, bytes);
  await store.append(trades, longFrame(1, { start: 3 }));
  expect((await rowsOf(store, trades))?.map(([id]) => Number(id))).toEqual([0, 3]);
});

test('an expired frame that cannot be dropped is tried again once for each list, and the store closes', async () => {
  let time = Date.now();
  const problems: unknown[] = [];
  const store = await fixture.open({ now: () => time, onProblem: (problem) => problems.push(problem) });
  await store.put(trades, longFrame(1), { ttlSeconds: 10 });
  time += 20_000;
  const file = await open(fixture.folder);
  const prototype = Object.getPrototypeOf(file) as typeof file;
  await file.close();
  const failed = Object.assign(new Error('read-only'), { code: 'EROFS' });
  const spy = vi.spyOn(prototype, 'writeFile').mockRejectedValue(failed);
  onTestFinished(() => spy.mockRestore());
  for (let lists = 1; lists <= 3; lists += 1) {
    expect(await store.list('default')).toEqual([]);
    await expect.poll(() => problems).toHaveLength(lists);
  }
  await store.close();
  expect(problems).toHaveLength(3);
});
