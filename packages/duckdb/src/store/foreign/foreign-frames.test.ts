import { execFileSync } from 'node:child_process';
import { mkdir, rename, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDecoders, encodeArrowStream } from '@svc/frames';
import { longFrame, readRows } from '@svc/frames/testing';
import { DateMillisecond, makeData, Table, tableToIPC, Vector } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DurableStore } from '../durable-store.ts';
import type { StoreProblem } from '../catalogue/store-problem.ts';
import { createArrowFrameFiles } from '../../testing/arrow-frame-files.ts';
import { createStoreFixture, listDescribed, refOf, rowsOf, type StoreFixture } from '../../testing/store-fixture.ts';

let fixture: StoreFixture;
let problems: StoreProblem[];
const decoders = createDecoders();
const trades = refOf('trades');

beforeEach(async () => {
  fixture = await createStoreFixture();
  await mkdir(fixture.folder);
  problems = [];
});

afterEach(() => fixture.remove());

const open = (options = {}): Promise<DurableStore> =>
  fixture.open({ decoders, onProblem: (problem) => problems.push(problem), ...options });
const leave = (name: string, text: string): Promise<void> => writeFile(join(fixture.folder, name), text);

async function leaveParquet(name: string, rows: number): Promise<void> {
  await createArrowFrameFiles().write(join(fixture.folder, name), longFrame(rows), { compression: 'none' });
}

async function leaveArrow(name: string, rows: number): Promise<void> {
  await writeFile(join(fixture.folder, name), encodeArrowStream(longFrame(rows, { batchRows: 2 })));
}

describe('files copied into the folder', () => {
  test('are frames without a restart, until they are removed', async () => {
    const store = await open();
    expect(await store.list('default')).toEqual([]);
    await leave('a.csv', 'id\n1\n');
    expect(await listDescribed(store)).toMatchObject([{ handle: 'a', rows: 1, tier: 'disk', expires: null }]);
    await leaveParquet('b.parquet', 2);
    await leaveArrow('c.arrow', 3);
    await leave('not a handle.csv', 'id\n1\n');
    expect((await listDescribed(store)).map(({ handle, rows }) => [handle, rows])).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ]);
    for (const [handle, rows] of [
      ['a', [[1n]]],
      ['b', [[0n], [1n]]],
      ['c', [[0n], [1n], [2n]]],
    ] as const) {
      expect(await rowsOf(store, refOf(handle))).toEqual(rows);
    }
    await rename(join(fixture.folder, 'a.csv'), join(fixture.folder, 'a.bak'));
    expect(await store.describe(refOf('a'))).toBeUndefined();
    expect((await listDescribed(store)).map(({ handle }) => handle)).toEqual(['b', 'c']);
  });

  test('are frames only if they are regular files', async () => {
    const store = await open();
    await mkdir(join(fixture.folder, 'folder.parquet'));
    execFileSync('mkfifo', [join(fixture.folder, 'pipe.csv')]);
    await leave('file.csv', 'id\n1\n');
    await symlink(join(fixture.folder, 'file.csv'), join(fixture.folder, 'link.csv'));
    expect((await listDescribed(store)).map(({ handle }) => handle)).toEqual(['file', 'link']);
    expect(await store.handles('default')).toEqual(['file', 'link']);
  });

  test('are not hidden by a folder of the same name', async () => {
    const store = await open();
    await leave('a.csv', 'id\n1\n');
    await mkdir(join(fixture.folder, 'a.parquet'));
    expect(await listDescribed(store)).toMatchObject([{ handle: 'a', rows: 1 }]);
    expect(await rowsOf(store, refOf('a'))).toEqual([[1n]]);
  });

  test('have a new version when they change', async () => {
    const store = await open();
    await leave('a.csv', 'id\n1\n');
    const before = await store.describe(refOf('a'));
    expect(await rowsOf(store, refOf('a'))).toEqual([[1n]]);
    await leave('a.csv', 'id\n2\n');
    await utimes(join(fixture.folder, 'a.csv'), new Date(), new Date(Date.now() + 5000));
    const after = await store.describe(refOf('a'));
    expect(after!.version > before!.version).toBe(true);
    expect(await rowsOf(store, refOf('a'))).toEqual([[2n]]);
  });

  test('have a new version when they change, even if their size and time do not', async () => {
    const store = await open();
    const path = join(fixture.folder, 'a.csv');
    for (const id of [1n, 2n, 3n]) {
      await leave('a.csv', `id\n${id}\n`);
      await utimes(path, 1000, 1000);
      expect(await rowsOf(store, refOf('a'))).toEqual([[id]]);
    }
  });

  test('cannot be changed', async () => {
    const store = await open();
    await leave('trades.csv', 'id\n1\n');
    for (const change of [
      () => store.put(trades, longFrame(1)),
      () => store.append(trades, longFrame(1)),
      () => store.drop(trades),
      () => store.expire(trades, 5),
    ]) {
      await expect(change()).rejects.toMatchObject({
        code: 'permission_denied',
        message: expect.stringContaining('"trades"'),
      });
    }
    expect(await rowsOf(store, trades)).toEqual([[1n]]);
  });

  test('hide each other in this order: put, Parquet, Arrow, CSV, table', async () => {
    const duckdbPath = join(fixture.directory, 'tables.db');
    await writeFile(duckdbPath, JSON.stringify({ trades: [1, 2, 3, 4, 5, 6], other: [1], 'no handle': [] }));
    const store = await open({ duckdbPath });
    const rows = async (): Promise<[number | undefined, number]> => [
      (await store.describe(trades))?.rows,
      (await listDescribed(store)).length,
    ];
    const seen = [await rows()];
    await leave('TRADES.csv', 'id\n1\n');
    seen.push(await rows());
    await leave('trades.csv', 'id\n1\n2\n3\n4\n5\n');
    seen.push(await rows());
    await leaveArrow('trades.arrow', 4);
    seen.push(await rows());
    await leaveParquet('trades.parquet', 3);
    seen.push(await rows());
    await rename(join(fixture.folder, 'trades.parquet'), join(fixture.folder, 'x'));
    await rename(join(fixture.folder, 'trades.arrow'), join(fixture.folder, 'y'));
    await rename(join(fixture.folder, 'trades.csv'), join(fixture.folder, 'z'));
    await rename(join(fixture.folder, 'TRADES.csv'), join(fixture.folder, 'w'));
    await writeFile(duckdbPath, '{"other":[1]}');
    await store.put(trades, longFrame(2));
    await rename(join(fixture.folder, 'x'), join(fixture.folder, 'trades.parquet'));
    seen.push(await rows());
    expect(seen).toEqual([6, 6, 5, 4, 3, 2].map((count) => [count, 2]));
    expect(await rowsOf(store, refOf('other'))).toEqual([[1n]]);
  });

  test('that are broken affect only their handle', async () => {
    const store = await open();
    await leave('a.parquet', 'nonsense');
    await leave('b.csv', 'id\n1\nx\n');
    await leave('c.arrow', 'nonsense');
    await leave('d.csv', 'id\n1\n');
    expect(await listDescribed(store)).toMatchObject([{ handle: 'd' }]);
    expect(problems.map(({ kind, handle }) => `${kind} ${handle}`).toSorted()).toEqual([
      'unreadable_frame a',
      'unreadable_frame b',
      'unreadable_frame c',
    ]);
    await listDescribed(store);
    expect(problems).toHaveLength(3);
    for (const handle of ['a', 'b', 'c']) {
      await expect(store.open(refOf(handle))).rejects.toMatchObject({ code: 'invalid_data' });
    }
    await leave('b.csv', 'id\n1\n2\n');
    expect(await rowsOf(store, refOf('b'))).toEqual([[1n], [2n]]);
  });

  test('in Arrow format are refused if a date64 is not a whole day', async () => {
    const store = await open();
    const days = new Table({
      day: new Vector([makeData({ type: new DateMillisecond(), length: 2, data: BigInt64Array.of(86_400_000n, 1n) })]),
    });
    await writeFile(join(fixture.folder, 'days.arrow'), tableToIPC(days, 'file'));
    await expect(store.open(refOf('days'))).rejects.toMatchObject({
      code: 'invalid_data',
      message: expect.stringContaining('row 1 has the date64 value 1, which is not a whole day'),
      hint: expect.stringContaining('Cast the column to date32'),
    });
  });

  test('in Arrow format can be read in part', async () => {
    const store = await open({ cacheBytes: 0 });
    await leaveArrow('c.arrow', 7);
    const frame = await store.open(refOf('c'));
    expect(await readRows(frame!.read({ offset: 3, limit: 2 }))).toEqual([[3n], [4n]]);
    expect(await readRows(frame!.read({ offset: 5, columns: ['id'] }))).toEqual([[5n], [6n]]);
    expect(await readRows(frame!.read({ limit: 0 }))).toEqual([]);
    frame?.close();
  });
});

describe('files in the directory itself', () => {
  test('are frames of the default tenant, and those in its folder hide them', async () => {
    const store = await open();
    await writeFile(join(fixture.directory, 'trades.csv'), 'id\n1\n');
    await writeFile(join(fixture.directory, 'quotes.csv'), 'id\n1\n');
    await leave('trades.csv', 'id\n1\n2\n');
    expect((await listDescribed(store)).map(({ handle, rows }) => [handle, rows])).toEqual([
      ['quotes', 1],
      ['trades', 2],
    ]);
    expect(await store.list('other')).toEqual([]);
  });

  test('belong to the default tenant if there are others, and so do tables', async () => {
    const duckdbPath = join(fixture.directory, 'tables.db');
    await writeFile(duckdbPath, '{"other":[1]}');
    const store = await open({ hasTenants: true, duckdbPath });
    await writeFile(join(fixture.directory, 'trades.csv'), 'id\n1\n');
    await leave('own.csv', 'id\n1\n');
    const handles = async (tenant: string) => (await store.list(tenant)).map(({ handle }) => handle);
    expect(await handles('default')).toEqual(['other', 'own', 'trades']);
    expect(await handles('alpha')).toEqual([]);
  });
});
