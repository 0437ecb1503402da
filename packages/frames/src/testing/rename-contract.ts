import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type FrameRef, parseHandle, type Store } from '../store.ts';
import { longFrame, readRows } from './sample-frames.ts';

const refOf = (handle: string, tenant = 'default'): FrameRef => ({ tenant, handle: parseHandle(handle) });

/** What a store promises about renames. `createStore` creates an empty one. */
export function renameContract(name: string, createStore: () => Promise<Store>): void {
  describe(`${name} renames frames`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await createStore();
    });
    afterEach(async () => {
      vi.useRealTimers();
      await store.close();
    });

    const rename = (from: string, to: string) => store.rename(refOf(from), parseHandle(to));

    async function ids(ref: FrameRef): Promise<unknown> {
      const frame = await store.open(ref);
      const rows = frame && (await readRows(frame.read())).flat();
      frame?.close();
      return rows;
    }

    test('the rows are under the new handle only, as a later version', async () => {
      const before = await store.put(refOf('a'), longFrame(3));
      const info = await rename('a', 'b');
      expect(info).toMatchObject({ handle: 'b', rows: 3, bytes: before.info.bytes, columns: before.info.columns });
      expect(info && info.version > before.info.version).toBe(true);
      expect(await store.describe(refOf('b'))).toEqual(info);
      expect([await ids(refOf('a')), await ids(refOf('b'))]).toEqual([undefined, [0n, 1n, 2n]]);
      expect((await store.list('default')).map(({ handle }) => handle)).toEqual(['b']);
      expect(await store.usage()).toMatchObject({ frames: 1, bytes: before.info.bytes });
    });

    test('a frame with appended rows takes more, and both handles can be used again', async () => {
      await store.put(refOf('a'), longFrame(2));
      await store.append(refOf('a'), longFrame(1, { start: 5 }));
      await rename('a', 'b');
      await store.append(refOf('b'), longFrame(1, { start: 9 }));
      await store.put(refOf('a'), longFrame(1, { start: 7 }));
      expect([await ids(refOf('a')), await ids(refOf('b'))]).toEqual([[7n], [0n, 1n, 5n, 9n]]);
      await store.drop(refOf('b'));
      await rename('a', 'b');
      await rename('b', 'a');
      expect([await ids(refOf('a')), await ids(refOf('b'))]).toEqual([[7n], undefined]);
    });

    test('the expiry stays', async () => {
      vi.useFakeTimers({ toFake: ['Date'] });
      const { info } = await store.put(refOf('a'), longFrame(1), { ttlSeconds: 60 });
      vi.setSystemTime(Date.now() + 30_000);
      expect((await rename('a', 'b'))?.expires).toEqual(info.expires);
      vi.setSystemTime(Date.now() + 30_000);
      expect(await store.describe(refOf('b'))).toBeUndefined();
      expect(await store.usage()).toMatchObject({ frames: 0, bytes: 0 });
    });

    test('an expired frame cannot be renamed, and is no obstacle', async () => {
      vi.useFakeTimers({ toFake: ['Date'] });
      await store.put(refOf('a'), longFrame(1));
      await store.put(refOf('b'), longFrame(2), { ttlSeconds: 1 });
      vi.setSystemTime(Date.now() + 1_000);
      expect(await rename('b', 'c')).toBeUndefined();
      await rename('a', 'b');
      expect(await ids(refOf('b'))).toEqual([0n]);
    });

    test('a frame that does not exist, of another tenant or in another letter case is undefined', async () => {
      await store.put(refOf('a', 'other'), longFrame(1));
      await store.put(refOf('c'), longFrame(1));
      for (const handle of ['a', 'C']) expect(await rename(handle, 'b')).toBeUndefined();
      expect(await store.describe(refOf('b'))).toBeUndefined();
    });

    test.each(['a', 'A', 'b', 'B'])('to %s is handle_exists if there are a and b', async (to) => {
      await store.put(refOf('a'), longFrame(1));
      await store.put(refOf('b'), longFrame(2));
      await expect(rename('a', to)).rejects.toMatchObject({ code: 'handle_exists' });
      expect([await ids(refOf('a')), await ids(refOf('b'))]).toEqual([[0n], [0n, 1n]]);
    });

    test.each([
      ['a', 'The frame "a" has this name already.', 'Choose another name.'],
      ['A', '"A" differs from "a" only in letter case.', 'Rename the frame to a third name, and that to this one.'],
      ['b', 'The frame "b" already exists.', 'Choose another name. To replace that frame, drop it first.'],
    ])('to %s says: %s', async (to, message, hint) => {
      await store.put(refOf('a'), longFrame(1));
      await store.put(refOf('b'), longFrame(1));
      await expect(rename('a', to)).rejects.toMatchObject({ message, hint });
    });

    test('a handle of another tenant is no obstacle', async () => {
      await store.put(refOf('a'), longFrame(1));
      await store.put(refOf('b', 'other'), longFrame(2));
      await rename('a', 'b');
      expect([await ids(refOf('b')), await ids(refOf('b', 'other'))]).toEqual([[0n], [0n, 1n]]);
    });

    test('a read that has started finishes, and its bytes count until it is closed', async () => {
      await store.put(refOf('a'), longFrame(4, { batchRows: 1 }));
      const frame = await store.open(refOf('a'));
      const batches = frame?.read().batches[Symbol.asyncIterator]();
      await batches?.next();
      await rename('a', 'b');
      await store.drop(refOf('b'));
      let rest = 0;
      while ((await batches?.next())?.done === false) rest += 1;
      expect([rest, frame?.info.handle]).toEqual([3, 'a']);
      frame?.close();
      expect(await store.usage()).toMatchObject({ frames: 0, bytes: 0 });
    });

    test('of concurrent renames to one handle, one wins and the others leave their frames', async () => {
      for (const handle of ['a', 'b', 'c']) await store.put(refOf(handle), longFrame(1));
      const results = await Promise.allSettled(['a', 'b', 'c'].map((handle) => rename(handle, 'd')));
      expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
      expect(await store.list('default')).toHaveLength(3);
    });

    test('concurrent renames in opposite directions do not wait for each other', async () => {
      await store.put(refOf('a'), longFrame(1));
      const results = await Promise.all([rename('a', 'b'), rename('b', 'a')]);
      expect(results[0]?.handle).toBe('b');
      expect(await store.list('default')).toHaveLength(1);
    });

    test('a quota that is used up does not keep a frame from being renamed', async () => {
      const quota = { maxFrames: 1 };
      await store.put(refOf('a'), longFrame(1), { quota });
      await rename('a', 'b');
      await store.put(refOf('b'), longFrame(2), { quota });
      await expect(store.put(refOf('a'), longFrame(1), { quota })).rejects.toMatchObject({ code: 'quota_exceeded' });
    });
  });
}
