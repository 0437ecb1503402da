import { Field, Int8, Schema } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type FrameRef, type OpenFrame, parseHandle, type Store } from '../store.ts';
import { streamOfBatches } from '../streams.ts';
import { quotaContract } from './quota-contract.ts';
import { readingContract } from './reading-contract.ts';
import { renameContract } from './rename-contract.ts';
import { longFrame, readRows } from './sample-frames.ts';

/** Options of the stores the suite creates. */
export interface StoreContractOptions {
  /** The bytes for all frames together. */
  readonly maxBytes: number;
}

const trades: FrameRef = { tenant: 'default', handle: parseHandle('trades') };

/** The contract of all stores. `createStore` creates an empty one. */
export function storeContract(name: string, createStore: (options: StoreContractOptions) => Promise<Store>): void {
  describe(`${name} keeps the store contract`, () => {
    let store: Store;

    beforeEach(async () => {
      store = await createStore({ maxBytes: 1_000_000 });
    });

    afterEach(async () => {
      vi.useRealTimers();
      await store.close();
    });

    async function opened(ref: FrameRef): Promise<OpenFrame> {
      const frame = await store.open(ref);
      if (frame === undefined) throw new Error(`There is no frame ${ref.handle}.`);
      return frame;
    }

    async function ids(ref: FrameRef): Promise<unknown> {
      const frame = await opened(ref);
      const rows = await readRows(frame.read());
      frame.close();
      return rows.flat();
    }

    test('a put frame reads back', async () => {
      const { info, created } = await store.put(trades, longFrame(3, { batchRows: 2 }));
      expect(created).toBe(true);
      expect(info).toMatchObject({ handle: 'trades', rows: 3, expires: null });
      expect(info.columns).toEqual([{ name: 'id', type: 'LONG', nullable: false }]);
      expect(info.bytes).toBeGreaterThanOrEqual(24);
      expect(await ids(trades)).toEqual([0n, 1n, 2n]);
      expect(await store.describe(trades)).toEqual(info);
    });

    test.each(['put', 'append'] as const)('%s refuses a frame whose names are too long together', async (write) => {
      const fields = Array.from({ length: 1025 }, (_, i) => new Field(String(i).padStart(1024, '_'), new Int8(), true));
      const frame = streamOfBatches(new Schema(fields), []);
      await expect(store[write](trades, frame)).rejects.toMatchObject({ code: 'invalid_data' });
      expect(await store.describe(trades)).toBeUndefined();
    });

    test('an unknown frame is undefined, and dropping it is false', async () => {
      expect(await store.open(trades)).toBeUndefined();
      expect(await store.describe(trades)).toBeUndefined();
      expect(await store.expire(trades, 5)).toBeUndefined();
      expect(await store.drop(trades)).toBe(false);
    });

    test('a replace gives a new, later version, and created is false', async () => {
      const first = await store.put(trades, longFrame(1));
      const second = await store.put(trades, longFrame(2));
      expect(second.created).toBe(false);
      expect(second.info.version > first.info.version).toBe(true);
      expect(await ids(trades)).toEqual([0n, 1n]);
    });

    test('a read that has started finishes on its version after a replace and a drop', async () => {
      await store.put(trades, longFrame(4, { batchRows: 1 }));
      const frame = await opened(trades);
      const batches = frame.read().batches[Symbol.asyncIterator]();
      await batches.next();
      await store.put(trades, longFrame(2, { start: 100 }));
      await store.drop(trades);
      let rest = 0;
      while ((await batches.next()).done !== true) rest++;
      expect(rest).toBe(3);
      expect((await readRows(frame.read())).flat()).toEqual([0n, 1n, 2n, 3n]);
      frame.close();
      expect(await store.open(trades)).toBeUndefined();
    });

    test('ifAbsent refuses an existing handle and leaves its frame', async () => {
      await store.put(trades, longFrame(1), { ifAbsent: true });
      await expect(store.put(trades, longFrame(2), { ifAbsent: true })).rejects.toMatchObject({
        code: 'handle_exists',
      });
      expect(await ids(trades)).toEqual([0n]);
    });

    test('ifVersion refuses another version, and a free handle', async () => {
      await expect(store.put(trades, longFrame(1), { ifVersion: 'X' })).rejects.toMatchObject({
        code: 'version_conflict',
      });
      const { info } = await store.put(trades, longFrame(1));
      await store.put(trades, longFrame(2), { ifVersion: info.version });
      await expect(store.put(trades, longFrame(3), { ifVersion: info.version })).rejects.toMatchObject({
        code: 'version_conflict',
      });
      expect(await ids(trades)).toEqual([0n, 1n]);
    });

    test('ifPresent replaces a frame, and refuses a free handle', async () => {
      await expect(store.put(trades, longFrame(1), { ifPresent: true })).rejects.toMatchObject({
        code: 'version_conflict',
      });
      expect(await store.describe(trades)).toBeUndefined();
      await store.put(trades, longFrame(1));
      expect((await store.put(trades, longFrame(2), { ifPresent: true })).created).toBe(false);
      expect(await ids(trades)).toEqual([0n, 1n]);
    });

    test('ifPresent refuses a frame that is dropped during the upload', async () => {
      await store.put(trades, longFrame(1));
      const { schema, batches } = longFrame(2, { batchRows: 1 });
      const dropping = (async function* () {
        for await (const batch of batches) {
          yield batch;
          await store.drop(trades);
        }
      })();
      await expect(store.put(trades, { schema, batches: dropping }, { ifPresent: true })).rejects.toMatchObject({
        code: 'version_conflict',
      });
      expect(await store.usage()).toMatchObject({ frames: 0, bytes: 0 });
    });

    test('of two concurrent puts with ifAbsent, one wins', async () => {
      const puts = [1, 2].map((rows) => store.put(trades, longFrame(rows, { batchRows: 1 }), { ifAbsent: true }));
      const results = await Promise.allSettled(puts);
      expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    });

    test('two handles of a tenant cannot differ only in case, those of two tenants can', async () => {
      await store.put(trades, longFrame(1));
      const upper = parseHandle('TRADES');
      await expect(store.put({ ...trades, handle: upper }, longFrame(1))).rejects.toMatchObject({
        code: 'handle_exists',
      });
      expect(await store.describe({ ...trades, handle: upper })).toBeUndefined();
      expect(await store.drop({ ...trades, handle: upper })).toBe(false);
      await store.put({ tenant: 'other', handle: upper }, longFrame(2));
      expect(await ids(trades)).toEqual([0n]);
    });

    test('the same handle of two tenants is two frames', async () => {
      const other = { ...trades, tenant: 'other' };
      await store.put(trades, longFrame(1));
      await store.put(other, longFrame(2));
      await store.drop(trades);
      expect(await ids(other)).toEqual([0n, 1n]);
      expect(await store.list('default')).toEqual([]);
    });

    test('a put whose source fails leaves the old frame and releases its bytes', async () => {
      await store.put(trades, longFrame(1));
      const before = await store.usage();
      const { schema, batches } = longFrame(10, { batchRows: 5 });
      const broken = (async function* () {
        for await (const batch of batches) {
          yield batch;
          throw new Error('cut');
        }
      })();
      await expect(store.put(trades, { schema, batches: broken })).rejects.toThrow('cut');
      expect(await ids(trades)).toEqual([0n]);
      expect(await store.usage()).toEqual(before);
    });

    test('an aborted put leaves the old frame', async () => {
      await store.put(trades, longFrame(1));
      const signal = AbortSignal.abort(new Error('gone'));
      await expect(store.put(trades, longFrame(5), { signal })).rejects.toThrow('gone');
      expect(await ids(trades)).toEqual([0n]);
    });

    test('a frame that does not fit is refused, and no other is evicted', async () => {
      await store.put(trades, longFrame(50_000));
      const quotes = { ...trades, handle: parseHandle('quotes') };
      await expect(store.put(quotes, longFrame(100_000, { batchRows: 10_000 }))).rejects.toMatchObject({
        code: 'out_of_memory',
      });
      expect(await store.list('default')).toHaveLength(1);
      const before = await store.usage();
      expect(before.frames).toBe(1);
      expect(before.bytes).toBeGreaterThanOrEqual(400_000);
      const { info } = await store.put(quotes, longFrame(50_000));
      expect(await store.usage()).toEqual({
        frames: 2,
        bytes: before.bytes + info.bytes,
        freeBytes: before.freeBytes - info.bytes,
      });
    });

    test('a dropped frame counts until its last reader closes it', async () => {
      const { info } = await store.put(trades, longFrame(50_000));
      const first = await opened(trades);
      const second = await opened(trades);
      await store.drop(trades);
      first.close();
      first.close();
      expect((await store.usage()).bytes).toBe(info.bytes);
      second.close();
      expect((await store.usage()).bytes).toBe(0);
    });

    test('a frame with a time to live expires and releases its bytes', async () => {
      vi.useFakeTimers({ toFake: ['Date'] });
      const { info } = await store.put(trades, longFrame(10), { ttlSeconds: 60 });
      expect(info.expires?.getTime()).toBe(Date.now() + 60_000);
      vi.setSystemTime(Date.now() + 59_999);
      expect(await ids(trades)).toHaveLength(10);
      vi.setSystemTime(Date.now() + 1);
      expect(await store.open(trades)).toBeUndefined();
      expect(await store.list('default')).toEqual([]);
      expect(await store.usage()).toMatchObject({ frames: 0, bytes: 0 });
    });

    test('expire extends or removes the expiry; a replace sets it again', async () => {
      vi.useFakeTimers({ toFake: ['Date'] });
      await store.put(trades, longFrame(1), { ttlSeconds: 1 });
      const extended = await store.expire(trades, 10);
      expect(extended?.expires?.getTime()).toBe(Date.now() + 10_000);
      expect((await store.expire(trades, null))?.expires).toBeNull();
      await store.put(trades, longFrame(1), { ttlSeconds: 1 });
      expect((await store.put(trades, longFrame(1))).info.expires).toBeNull();
    });

    test('a read that has started outlives the expiry of its frame', async () => {
      vi.useFakeTimers({ toFake: ['Date'] });
      await store.put(trades, longFrame(3), { ttlSeconds: 1 });
      const frame = await opened(trades);
      vi.setSystemTime(Date.now() + 5_000);
      expect(await store.describe(trades)).toBeUndefined();
      expect((await readRows(frame.read())).flat()).toEqual([0n, 1n, 2n]);
      frame.close();
      expect((await store.usage()).bytes).toBe(0);
    });
  });
  readingContract(name, async (frames) => {
    const store = await createStore({ maxBytes: 1_000_000 });
    for (const { ref, ...stream } of frames) await store.put(ref, stream);
    return store;
  });
  quotaContract(name, () => createStore({ maxBytes: 1_000_000 }));
  renameContract(name, () => createStore({ maxBytes: 1_000_000 }));
}
