import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@svc/errors';
import type { OpenFrame } from '@svc/frames';
import { bodyOf, longFrame, readRows } from '@svc/frames/testing';
import type { RecordBatch } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DurableStore } from '../../src/store/durable-store.ts';
import { createArrowFrameFiles } from '../../src/testing/arrow-frame-files.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

let fixture: StoreFixture;
let store: DurableStore;
const trades = refOf('trades');

beforeEach(async () => {
  fixture = await createStoreFixture();
  store = await fixture.open({ cacheBytes: 0 });
});

afterEach(() => fixture.remove());

async function restart(): Promise<void> {
  await store.close();
  store = await fixture.open({ cacheBytes: 0 });
}

const idsTo = (count: number): bigint[] => Array.from({ length: count }, (_, i) => BigInt(i));
const ids = async (): Promise<unknown> => (await rowsOf(store, trades))?.flat();
/** Of appends that were concurrent. */
const sortedIds = (rows: unknown[][] = []): bigint[] => (rows.flat() as bigint[]).toSorted((a, b) => (a < b ? -1 : 1));
const namesOf = async (extension: string): Promise<string[]> =>
  (await fixture.names()).filter((name) => name.endsWith(extension));

/** Puts one row and appends others, one at a time. */
async function putAndAppend(appends: number): Promise<void> {
  await store.put(trades, longFrame(1));
  for (let i = 1; i <= appends; i++) await store.append(trades, longFrame(1, { start: i }));
}

/** Puts one row and appends others at the same time, as files: each is a part. */
async function putAndAppendAll(appends: number): Promise<void> {
  await store.put(trades, longFrame(1));
  await Promise.all(
    Array.from({ length: appends }, (_, i) => store.append(trades, { format: 'csv', body: bodyOf(`id\n${i + 1}\n`) })),
  );
}

/** A promise and the function that resolves it. */
function createGate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}

describe('a frame of several parts', () => {
  test('survives a restart with its rows, sizes and expiry', async () => {
    await store.put(trades, longFrame(2), { ttlSeconds: 100 });
    const { info } = await store.append(trades, longFrame(2, { start: 2 }));
    await restart();
    expect(await store.describe(trades)).toEqual(info);
    expect(await store.usage()).toMatchObject({ frames: 1, bytes: info.bytes });
    expect(await ids()).toEqual(idsTo(4));
    await store.append(trades, longFrame(1, { start: 4 }));
    expect(await ids()).toEqual(idsTo(5));
  });

  test.each<[number, number]>([
    [0, 2],
    [1, 3],
    [2, 1],
    [3, 9],
    [5, 9],
  ])('has windows across its parts: offset %i, limit %i', async (offset, limit) => {
    await putAndAppend(4);
    const frame = await store.open(trades);
    expect((await readRows(frame!.read({ offset, limit }))).flat()).toEqual(idsTo(5).slice(offset, offset + limit));
    frame?.close();
  });

  test('stays readable at the version that was opened, and its files go some seconds after the last reader', async () => {
    let now = Date.now();
    await store.close();
    store = await fixture.open({ cacheBytes: 0, now: () => now });
    await putAndAppend(2);
    const old = (await store.open(trades)) as OpenFrame;
    await store.append(trades, longFrame(1, { start: 3 }));
    const newer = (await store.open(trades)) as OpenFrame;
    await store.put(trades, longFrame(1, { start: 9 }));
    expect((await readRows(old.read())).flat()).toEqual(idsTo(3));
    expect((await readRows(newer.read())).flat()).toEqual(idsTo(4));
    expect(await namesOf('.parquet')).toHaveLength(1);
    expect(await fixture.pinned()).toHaveLength(4);
    newer.close();
    await expect.poll(() => fixture.pinned()).toHaveLength(3);
    expect((await readRows(old.read())).flat()).toEqual(idsTo(3));
    old.close();
    now += 60_000;
    await store.list('default');
    await expect.poll(() => fixture.pinned()).toEqual([]);
    expect(await ids()).toEqual([9n]);
  });

  test('leaves no file when it is dropped, also if a reader outlives the drop', async () => {
    await putAndAppend(3);
    const frame = await store.open(trades);
    await store.drop(trades);
    await appendAgain();
    expect((await readRows(frame!.read())).flat()).toEqual(idsTo(4));
    frame?.close();
    await store.drop(trades);
    await store.close();
    expect(await fixture.names()).toEqual([]);
  });

  /** A new frame under the handle of one that was dropped. */
  async function appendAgain(): Promise<void> {
    expect(await store.append(trades, longFrame(1, { start: 7 }))).toMatchObject({ created: true });
    expect(await ids()).toEqual([7n]);
  }

  test('can be read by a second, read-only store while rows are appended', async () => {
    await putAndAppend(2);
    const reader = await fixture.open({ isReadOnly: true, cacheBytes: 0 });
    for (let i = 3; i < 10; i++) {
      await store.append(trades, longFrame(1, { start: i }));
      expect((await rowsOf(reader, trades))?.flat()).toEqual(idsTo(i + 1));
    }
    await reader.close();
  });
});

describe('appends that wait for each other', () => {
  test('each have a version and a number of rows of their own', async () => {
    await store.put(trades, longFrame(1));
    const results = await Promise.all(Array.from({ length: 9 }, () => store.append(trades, longFrame(1))));
    const infos = results.map(({ info }) => info).toSorted((a, b) => a.rows - b.rows);
    expect(infos.map(({ rows }) => rows)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(infos.map(({ version }) => version)).toEqual(infos.map(({ version }) => version).toSorted());
    expect(new Set(infos.map(({ version }) => version)).size).toBe(9);
    expect((await store.describe(trades))?.version).toBe(infos.at(-1)?.version);
  });

  test('are applied at most once for one expected version', async () => {
    const { info } = await store.put(trades, longFrame(1));
    const results = await Promise.allSettled(
      Array.from({ length: 5 }, (_, i) =>
        store.append(trades, longFrame(1, { start: i }), { ifVersion: info.version }),
      ),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await ids()).toHaveLength(2);
  });

  test('create a frame once, and do not fail because of another', async () => {
    const results = await Promise.all([
      ...Array.from({ length: 4 }, (_, i) => store.append(trades, longFrame(1, { start: i }))),
      store.append(trades, longFrame(1), { ifPresent: true }).catch(() => undefined),
      store.append(trades, longFrame(1), { ifVersion: 'other' }).catch(() => undefined),
    ]);
    expect(results.filter((result) => result?.created)).toHaveLength(1);
    expect((await ids()) as bigint[]).toEqual(expect.arrayContaining(idsTo(4)));
  });
});

describe('short appends that wait for each other', () => {
  test('are written to one file', async () => {
    await store.put(trades, longFrame(1));
    await Promise.all(Array.from({ length: 40 }, (_, i) => store.append(trades, longFrame(1, { start: i + 1 }))));
    expect((await fixture.parts('trades')).length).toBeLessThan(20);
    expect(sortedIds(await rowsOf(store, trades))).toEqual(idsTo(41));
  });

  test('fail alone if one has a value that cannot be stored', async () => {
    const files = createArrowFrameFiles();
    await store.close();
    store = await fixture.open({
      files: {
        ...files,
        write: (path, { schema, batches }, options) => {
          const checked = async function* (): AsyncGenerator<RecordBatch> {
            for await (const batch of batches) {
              if (batch.getChildAt(0)?.get(0) === 13n) throw new ServiceError('invalid_data', 'Row 1: 13.');
              yield batch;
            }
          };
          return files.write(path, { schema, batches: checked() }, options);
        },
      },
    });
    await store.put(trades, longFrame(1));
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => store.append(trades, longFrame(1, { start: i + 1 }))),
    );
    expect(results.map(({ status }) => status === 'rejected')).toEqual(results.map((_, i) => i === 12));
    expect(sortedIds(await rowsOf(store, trades))).toEqual(idsTo(21).filter((id) => id !== 13n));
    expect((await store.describe(trades))?.rows).toBe(20);
  });
});

describe('after a crash', () => {
  test('parts that no version lists are removed', async () => {
    await putAndAppend(1);
    await store.close();
    const [part = ''] = await fixture.parts('trades');
    const bytes = await readFile(part);
    await writeFile(part.replace(/-[0-9a-f]{8}(?=\.parquet)/, '-00000000'), bytes);
    await writeFile(join(fixture.folder, 'trades', 'notes.parquet'), bytes);
    await writeFile(join(fixture.folder, '.tmp-1'), bytes);
    const names = await fixture.names();
    store = await fixture.open({ isReadOnly: true });
    expect(await ids()).toEqual(idsTo(2));
    expect(await fixture.names()).toEqual(names);
    await restart();
    expect(await ids()).toEqual(idsTo(2));
    await store.close();
    expect(await fixture.names()).toHaveLength(3);
    expect(await fixture.names()).toContain('trades/notes.parquet');
  });
});

describe('a log whose newest entry', () => {
  test.each<[string, (text: string) => string]>([
    ['is cut', (text) => text.slice(0, 50)],
    ['has another number', (text) => text.replace('"rows":1', '"rows":2')],
    ['lists a file elsewhere', (text) => text.replace(/"file":"[^"]*"/, '"file":"../x.parquet"')],
    ['has a later format', (text) => text.replace('"format":1', '"format":2')],
  ])('%s makes the frame unreadable, and no file is removed', async (_name, change) => {
    await putAndAppend(2);
    const path = await fixture.entry('trades');
    const text = await readFile(path, 'utf8');
    await store.close();
    await writeFile(path, change(text));
    const names = await fixture.names();
    store = await fixture.open();
    await expect(store.open(trades)).rejects.toMatchObject({ code: 'internal' });
    await expect(store.append(trades, longFrame(1))).rejects.toMatchObject({ code: 'internal' });
    expect(await store.faults()).toMatchObject([{ kind: 'damaged_frame', handle: 'trades' }]);
    expect(await fixture.names()).toEqual(names);
    await writeFile(`${path}.copy`, text);
    await rename(`${path}.copy`, path);
    expect(await ids()).toEqual(idsTo(3));
    expect(await store.faults()).toEqual([]);
  });

  test('lists a part that is lost makes only its rows unreadable', async () => {
    await putAndAppend(2);
    await rm((await fixture.parts('trades'))[1] ?? '');
    await expect(ids()).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining('missing') });
    expect(await store.faults()).toMatchObject([{ kind: 'damaged_frame' }]);
  });
});

describe('a frame with more than 64 parts', () => {
  test('is merged to fewer files with the same rows, in the background', async () => {
    await putAndAppendAll(70);
    await expect.poll(async () => (await namesOf('.parquet')).length).toBeLessThan(20);
    const rows = await rowsOf(store, trades);
    expect(sortedIds(rows)).toEqual(idsTo(71));
    await restart();
    expect(await rowsOf(store, trades)).toEqual(rows);
    expect((await store.describe(trades))?.rows).toBe(71);
  });

  test('keeps rows that are appended during a merge, and readers keep their version', async () => {
    const files = createArrowFrameFiles();
    const merging = createGate();
    const blocked = createGate();
    await store.close();
    store = await fixture.open({
      cacheBytes: 0,
      files: {
        ...files,
        async merge(...merge) {
          merging.open();
          await blocked.passed;
          return files.merge(...merge);
        },
      },
    });
    await putAndAppendAll(64);
    await merging.passed;
    const before = await store.open(trades);
    await store.append(trades, longFrame(1, { start: 65 }));
    blocked.open();
    await expect.poll(async () => (await namesOf('.parquet')).length).toBeLessThan(70);
    expect(sortedIds(await readRows(before!.read()))).toEqual(idsTo(65));
    before?.close();
    await expect.poll(async () => (await namesOf('.parquet')).length).toBe(2);
    expect(sortedIds(await rowsOf(store, trades))).toEqual(idsTo(66));
  });

  test('is not merged if it was replaced meanwhile', { tags: ['slow'] }, async () => {
    const files = createArrowFrameFiles();
    await store.close();
    store = await fixture.open({
      files: {
        ...files,
        async merge(...merge) {
          await store.put(trades, longFrame(1, { start: 5 }));
          return files.merge(...merge);
        },
      },
    });
    await putAndAppendAll(64);
    await expect.poll(async () => (await fixture.names()).length).toBe(1);
    expect(await ids()).toEqual([5n]);
  });

  test('stays in memory when it is merged', async () => {
    await store.close();
    store = await fixture.open();
    await putAndAppendAll(64);
    expect(sortedIds(await rowsOf(store, trades))).toEqual(idsTo(65));
    await expect.poll(async () => (await namesOf('.parquet')).length).toBe(1);
    expect((await store.describe(trades))?.tier).toBe('memory');
  });

  test('can be appended to if it cannot be merged, but not for ever', { tags: ['slow'] }, async () => {
    const files = createArrowFrameFiles();
    await store.close();
    const merge = async (): Promise<never> => {
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    };
    store = await fixture.open({ files: { ...files, merge } });
    await putAndAppendAll(255);
    await expect(store.append(trades, longFrame(1))).rejects.toMatchObject({ code: 'out_of_disk' });
    expect(sortedIds(await rowsOf(store, trades))).toEqual(idsTo(256));
  });

  test('has no merge in progress when the store is closed', async () => {
    const files = createArrowFrameFiles();
    const merging = createGate();
    await store.close();
    store = await fixture.open({
      files: {
        ...files,
        merge: (_from, _info, _path, { signal }) =>
          new Promise((_resolve, reject) => {
            merging.open();
            signal?.addEventListener('abort', () => reject(signal.reason as Error));
          }),
      },
    });
    await putAndAppendAll(64);
    await merging.passed;
    await store.close();
    store = await fixture.open();
    expect(sortedIds(await rowsOf(store, trades))).toEqual(idsTo(65));
  });
});
