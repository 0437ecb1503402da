import { longFrame, readRows } from '@svc/frames/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ArrowFrameFiles, createArrowFrameFiles } from '../../src/testing/arrow-frame-files.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

let fixture: StoreFixture;
let files: ArrowFrameFiles;
/** How often a frame was decoded. */
let decodings: number;
const trades = refOf('trades');

beforeEach(async () => {
  fixture = await createStoreFixture();
  const real = createArrowFrameFiles();
  decodings = 0;
  files = {
    ...real,
    decode(...args) {
      decodings += 1;
      return real.decode(...args);
    },
  };
});

afterEach(() => fixture.remove());

describe('the tiers', () => {
  test('a frame that was just put is in memory', async () => {
    const store = await fixture.open({ files });
    expect((await store.put(trades, longFrame(10))).info.tier).toBe('memory');
    expect(await rowsOf(store, trades)).toHaveLength(10);
    expect(files.reads).toEqual([]);
  });

  test('a small limit reads only those rows from disk, a full read loads the frame into memory', async () => {
    const first = await fixture.open();
    await first.put(trades, longFrame(5000));
    await first.close();
    const store = await fixture.open({ files });
    const frame = (await store.open(trades))!;
    expect(await readRows(frame.read({ offset: 7, limit: 2, columns: ['id'] }))).toEqual([[7n], [8n]]);
    expect(files.reads).toMatchObject([{ limit: 2 }]);
    expect((await store.describe(trades))?.tier).toBe('disk');
    expect(await readRows(frame.read())).toHaveLength(5000);
    expect((await store.describe(trades))?.tier).toBe('memory');
    expect(await readRows(frame.read({ limit: 1 }))).toEqual([[0n]]);
    expect(files.reads).toHaveLength(2);
    frame.close();
  });

  test('a frame is loaded into memory if parts of it are read repeatedly', async () => {
    const first = await fixture.open();
    await first.put(trades, longFrame(5000));
    await first.close();
    const store = await fixture.open({ files });
    const readPart = async (): Promise<unknown> => {
      const frame = (await store.open(trades))!;
      const rows = await readRows(frame.read({ offset: 7, limit: 2 }));
      frame.close();
      return rows;
    };
    for (let i = 0; i < 2; i++) expect(await readPart()).toEqual([[7n], [8n]]);
    await expect.poll(async () => (await store.describe(trades))?.tier).toBe('memory');
    expect(files.reads).toHaveLength(3);
    expect(await readPart()).toEqual([[7n], [8n]]);
    expect(files.reads).toHaveLength(3);
  });

  test('but not if only its columns are requested', async () => {
    const first = await fixture.open();
    await first.put(trades, longFrame(5000));
    await first.close();
    const store = await fixture.open({ files });
    const frame = (await store.open(trades))!;
    for (let i = 0; i < 5; i++) expect(await readRows(frame.read({ limit: 0 }))).toEqual([]);
    frame.close();
    expect(files.reads.every(({ limit }) => limit === 0)).toBe(true);
    expect((await store.describe(trades))?.tier).toBe('disk');
  });

  test('but not if it does not fit', async () => {
    const store = await fixture.open({ files, cacheBytes: 10_000 });
    await store.put(trades, longFrame(5000));
    const frame = (await store.open(trades))!;
    for (let i = 0; i < 5; i++) expect(await readRows(frame.read({ offset: i, limit: 1 }))).toEqual([[BigInt(i)]]);
    frame.close();
    expect(files.reads).toHaveLength(5);
  });

  test('a read that stops halfway keeps nothing in memory, but the next one can', async () => {
    const store = await fixture.open({ files, cacheBytes: 100_000 });
    await store.put(trades, longFrame(5000), { ttlSeconds: 100 });
    await store.put(refOf('large'), longFrame(20_000));
    await store.append(trades, longFrame(1));
    expect((await store.describe(trades))?.tier).toBe('disk');
    const frame = (await store.open(trades))!;
    for await (const batch of frame.read().batches) {
      expect(batch.numRows).toBeGreaterThan(0);
      break;
    }
    const abandoned = frame.read().batches[Symbol.asyncIterator]();
    await abandoned.next();
    frame.close();
    expect((await store.describe(trades))?.tier).toBe('disk');
    expect(await rowsOf(store, trades)).toHaveLength(5001);
    expect((await store.describe(trades))?.tier).toBe('memory');
  });

  test('a frame that is larger than the cache is streamed', { tags: ['slow'] }, async () => {
    const store = await fixture.open({ files, cacheBytes: 10_000 });
    expect((await store.put(trades, longFrame(50_000, { batchRows: 100 }))).info.tier).toBe('disk');
    expect(await rowsOf(store, trades)).toHaveLength(50_000);
    expect((await store.describe(trades))?.tier).toBe('disk');
  });

  test('without a cache nothing is kept', async () => {
    const store = await fixture.open({ files, cacheBytes: 0 });
    expect((await store.put(trades, longFrame(1))).info.tier).toBe('disk');
    expect(await rowsOf(store, trades)).toEqual([[0n]]);
    expect((await store.describe(trades))?.tier).toBe('disk');
  });

  test('a cold read of a frame that is replaced and dropped meanwhile returns one version', async () => {
    const store = await fixture.open({ files, cacheBytes: 0 });
    await store.put(trades, longFrame(5000));
    const frame = (await store.open(trades))!;
    const batches = frame.read().batches[Symbol.asyncIterator]();
    await batches.next();
    await store.put(trades, longFrame(2, { start: 100 }));
    await store.drop(trades);
    let count = 1;
    while ((await batches.next()).done !== true) count++;
    expect(count).toBe(5);
    expect(await readRows(frame.read({ limit: 1 }))).toEqual([[0n]]);
    frame.close();
    await store.close();
    expect(await fixture.names()).toEqual([]);
  });
});

describe('a frame that is larger than the cache', () => {
  const ROWS = 5000;
  // That of the system may be in memory, where nothing is decoded to. Nothing is written here.
  const tempDirectory = import.meta.dirname;
  const open = (): ReturnType<StoreFixture['open']> =>
    fixture.open({ files, cacheBytes: 10_000, diskCacheBytes: 1_000_000, tempDirectory });

  /** Puts a frame and reads it until it is decoded on disk. */
  async function openDecoded(): Promise<Awaited<ReturnType<typeof open>>> {
    const store = await open();
    await store.put(trades, longFrame(ROWS));
    for (let i = 0; i < 2; i++) expect(await rowsOf(store, trades)).toHaveLength(ROWS);
    await expect.poll(() => store.cacheState().disk.bytes).toBeGreaterThan(8 * ROWS);
    return store;
  }

  async function readWindow(store: Awaited<ReturnType<typeof open>>): Promise<unknown> {
    const frame = (await store.open(trades))!;
    const rows = await readRows(frame.read({ offset: 4000, limit: 2, columns: ['id'] }));
    frame.close();
    return rows;
  }

  test('is decoded on disk if it is read repeatedly, and then not read from its file', async () => {
    const store = await openDecoded();
    const count = files.reads.length;
    expect(await rowsOf(store, trades)).toEqual(Array.from({ length: ROWS }, (_, i) => [BigInt(i)]));
    expect(await readWindow(store)).toEqual([[4000n], [4001n]]);
    expect(files.reads).toHaveLength(count);
    expect((await store.describe(trades))?.tier).toBe('disk');
    expect(store.cacheState().disk).toMatchObject({ hits: 2, misses: 2 });
  });

  test('is decoded if parts of it are read repeatedly', async () => {
    const store = await open();
    await store.put(trades, longFrame(ROWS));
    for (let i = 0; i < 2; i++) expect(await readWindow(store)).toEqual([[4000n], [4001n]]);
    await expect.poll(() => store.cacheState().disk.bytes).toBeGreaterThan(0);
    expect(await readWindow(store)).toEqual([[4000n], [4001n]]);
    expect(files.reads).toHaveLength(2);
  });

  test.each<[string, (store: Awaited<ReturnType<typeof open>>) => Promise<unknown>, unknown]>([
    ['put', (store) => store.put(trades, longFrame(1, { start: 7 })), [[7n]]],
    ['dropped', (store) => store.drop(trades), undefined],
  ])('that is %s is not decoded any more, and takes no space', async (_, change, rows) => {
    const store = await openDecoded();
    await change(store);
    expect(store.cacheState().disk.bytes).toBe(0);
    expect(await rowsOf(store, trades)).toEqual(rows);
  });

  test.each<[string, (store: Awaited<ReturnType<typeof open>>) => Promise<unknown>]>([
    ['replaced', (store) => store.put(trades, longFrame(1))],
    ['dropped', (store) => store.drop(trades)],
  ])('that was %s is not decoded when its last readers end', async (_, change) => {
    const store = await open();
    await store.put(trades, longFrame(ROWS));
    const frame = (await store.open(trades))!;
    expect(await readRows(frame.read())).toHaveLength(ROWS);
    await change(store);
    for (let i = 0; i < 3; i++) expect(await readRows(frame.read())).toHaveLength(ROWS);
    frame.close();
    await store.close();
    expect(store.cacheState().disk.bytes).toBe(0);
    expect(decodings).toBe(0);
  });

  test('has its appended rows', async () => {
    const store = await openDecoded();
    await store.append(trades, longFrame(1, { start: 9999 }));
    const rows = await rowsOf(store, trades);
    expect([rows?.length, rows?.at(-1)]).toEqual([ROWS + 1, [9999n]]);
  });

  test('stays decoded when it is renamed', async () => {
    const store = await openDecoded();
    await store.rename(trades, refOf('other').handle);
    const count = files.reads.length;
    expect(await rowsOf(store, refOf('other'))).toHaveLength(ROWS);
    expect(files.reads).toHaveLength(count);
  });

  test('is read to its end by who has opened it before it was replaced', async () => {
    const store = await openDecoded();
    const frame = (await store.open(trades))!;
    const batches = frame.read().batches[Symbol.asyncIterator]();
    await batches.next();
    await store.put(trades, longFrame(1));
    let count = 1;
    while ((await batches.next()).done !== true) count++;
    expect(count).toBe(5);
    frame.close();
    expect(store.cacheState().disk.bytes).toBe(0);
  });

  test('is read from its file from the row on at which the decoded one fails', async () => {
    const real = files;
    files = {
      ...real,
      async decode(source, info, options) {
        const decoded = await real.decode(source, info, options);
        return {
          ...decoded,
          read(part) {
            const { schema, batches } = decoded.read(part);
            async function* failing() {
              for await (const batch of batches) {
                yield batch;
                if (Number(batch.getChildAt(0)?.get(0)) >= 2000) throw new Error('EIO');
              }
            }
            return { schema, batches: failing() };
          },
        };
      },
    };
    const store = await openDecoded();
    expect(await rowsOf(store, trades)).toEqual(Array.from({ length: ROWS }, (_, i) => [BigInt(i)]));
    expect(store.cacheState().disk.bytes).toBe(0);
  });

  test('is not decoded without space for it', async () => {
    const store = await fixture.open({ files, cacheBytes: 10_000 });
    await store.put(trades, longFrame(ROWS));
    for (let i = 0; i < 5; i++) expect(await rowsOf(store, trades)).toHaveLength(ROWS);
    expect(files.reads).toHaveLength(5);
    expect(store.cacheState().disk.bytes).toBe(0);
  });

  test('makes room for a put that fails because the disk is full', async () => {
    let isFull = false;
    const real = files;
    files = {
      ...real,
      async write(...args) {
        if (isFull) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
        return real.write(...args);
      },
    };
    const store = await openDecoded();
    isFull = true;
    await expect(store.put(refOf('other'), longFrame(1))).rejects.toMatchObject({ code: 'out_of_disk' });
    expect(store.cacheState().disk.bytes).toBe(0);
  });
});

describe('a full disk', () => {
  const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });

  test.each<['put' | 'append' | 'upload', keyof ArrowFrameFiles]>([
    ['put', 'write'],
    ['append', 'write'],
    ['upload', 'convert'],
  ])('in a %s is out_of_disk and leaves the old frame', async (kind, operation) => {
    let isFull = false;
    const real = createArrowFrameFiles();
    const failing = async (): Promise<never> => {
      throw full;
    };
    const store = await fixture.open({
      files: new Proxy(real, {
        get: (target, name) => (isFull && name === operation ? failing : target[name as keyof ArrowFrameFiles]),
      }),
    });
    const { info } = await store.put(trades, longFrame(2));
    isFull = true;
    const body = (async function* () {
      yield Buffer.from('id\n1\n');
    })();
    const change = {
      put: () => store.put(trades, longFrame(3)),
      append: () => store.append(trades, longFrame(3)),
      upload: () => store.put(trades, { format: 'csv', body }),
    }[kind]();
    await expect(change).rejects.toMatchObject({ code: 'out_of_disk', hint: expect.stringContaining('Drop') });
    expect(await rowsOf(store, trades)).toHaveLength(2);
    expect(await fixture.names()).toEqual([`trades/${info.version}.parquet`]);
    expect(await store.drop(trades)).toBe(true);
  });
});

describe('a read-only store', () => {
  test('does not serve expired frames, and does not remove them', async () => {
    const holder = await fixture.open({ now: () => 1 });
    await holder.put(trades, longFrame(1), { ttlSeconds: 1 });
    const names = await fixture.names();
    const reader = await fixture.open({ isReadOnly: true });
    expect(await reader.list('default')).toEqual([]);
    expect(await reader.usage()).toMatchObject({ frames: 0 });
    await reader.close();
    expect(await fixture.names()).toEqual(names);
  });

  test('sees the changes of the holder of the directory, and changes nothing', async () => {
    const holder = await fixture.open();
    await holder.put(trades, longFrame(1));
    const reader = await fixture.open({ isReadOnly: true });
    expect(await rowsOf(reader, trades)).toHaveLength(1);
    await holder.put(trades, longFrame(2));
    expect(await rowsOf(reader, trades)).toHaveLength(2);
    await holder.put(refOf('quotes', 'other'), longFrame(1));
    expect(await reader.list('other')).toHaveLength(1);
    for (const change of [
      () => reader.put(trades, longFrame(1)),
      () => reader.append(trades, longFrame(1)),
      () => reader.drop(trades),
      () => reader.expire(trades, 1),
    ]) {
      await expect(change()).rejects.toMatchObject({ code: 'permission_denied' });
    }
    await holder.drop(trades);
    expect(await reader.open(trades)).toBeUndefined();
    expect(await reader.usage()).toMatchObject({ frames: 1 });
  });
});
