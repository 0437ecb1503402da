import fs, { chmod, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenFrame } from '@svc/frames';
import { longFrame, readRows } from '@svc/frames/testing';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import type { DurableStore } from '../../src/store/durable-store.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';
import { createTestFiles } from '../../src/testing/test-files.ts';

const trades = refOf('trades');
const files = createTestFiles('duckdb', tmpdir());
const { link } = fs;
let fixture: StoreFixture;
let store: DurableStore;
let now: number;

beforeEach(async () => {
  now = Date.now();
  fixture = await createStoreFixture(files);
  store = await fixture.open({ cacheBytes: 0, now: () => now, lockTimes: { beatMs: 20 } });
  for (let start = 0; start < 3; start++) await store.append(trades, longFrame(1, { start }));
});

afterEach(async () => {
  Object.assign(fs, { link });
  syncBuiltinESMExports();
  await fixture.remove();
});

afterAll(() => files.close());

async function ownFolder(): Promise<string> {
  const names = await readdir(fixture.directory);
  return join(fixture.directory, names.find((name) => name.startsWith('.process-')) ?? '');
}

/** Parts get no second names from now on. */
function refuseLinks(code: string): void {
  const refused = async (from: string, to: string): Promise<void> => {
    if (to.includes('.process-')) throw Object.assign(new Error(code), { code });
    await link(from, to);
  };
  Object.assign(fs, { link: refused });
  syncBuiltinESMExports();
}

test.each<[string, () => Promise<unknown>]>([
  ['replaced', () => store.put(trades, longFrame(1, { start: 9 }))],
  ['dropped', () => store.drop(trades)],
])('a version whose parts cannot be linked is read in place; they stay while it is %s', async (_, change) => {
  refuseLinks('EPERM');
  const frame = (await store.open(trades)) as OpenFrame;
  expect(await fixture.pinned()).toEqual([]);
  const parts = await fixture.parts('trades');
  await change();
  expect((await readRows(frame.read())).flat()).toEqual([0n, 1n, 2n]);
  frame.close();
  const left = async (): Promise<boolean> => {
    const names = await readdir(join(fixture.folder, 'trades')).catch(() => []);
    return names.some((name) => parts.includes(join(fixture.folder, 'trades', name)));
  };
  await expect.poll(left).toBe(false);
});

test.each<[string, () => Promise<unknown>]>([
  ['a read', () => rowsOf(store, trades)],
  ['a change', () => store.append(refOf('new'), longFrame(1))],
])('a server whose own folder is removed makes it again with %s, for all tenants', async (_, use) => {
  const others = refOf('trades', 'other');
  await store.put(others, longFrame(2));
  for (const ref of [trades, others]) await rowsOf(store, ref);
  const lost = await ownFolder();
  await rm(lost, { recursive: true });
  await expect
    .poll(() =>
      use()
        .then(() => readdir(lost))
        .catch(() => []),
    )
    .not.toEqual([]);
  expect(await rowsOf(store, trades)).toHaveLength(3);
  expect(await rowsOf(store, others)).toHaveLength(2);
  for (const ref of [trades, others]) await store.append(ref, longFrame(1, { start: 9 }));
  expect(await rowsOf(store, trades)).toHaveLength(4);
  expect(await rowsOf(store, others)).toHaveLength(3);
});

test('a damaged part of a replaced version is no fault, and does not take the others from their readers', async () => {
  const frame = (await store.open(trades)) as OpenFrame;
  const pin = (await store.pin({ tenant: 'default', name: 'trades' }))!;
  const [, , path = ''] = pin.paths;
  pin.release();
  await store.put(trades, longFrame(1));
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill(0, 4, 12));
  await expect(readRows(frame.read())).rejects.toMatchObject({ message: expect.stringContaining('damaged') });
  expect((await readRows(frame.read({ offset: 0, limit: 2 }))).flat()).toEqual([0n, 1n]);
  expect(await store.faults()).toEqual([]);
  frame.close();
});

test('after an append, only the part that it adds gets another name', async () => {
  await rowsOf(store, trades);
  const made: string[] = [];
  const counted = async (from: string, to: string): Promise<void> => {
    if (to.includes('.process-')) made.push(to);
    await link(from, to);
  };
  Object.assign(fs, { link: counted });
  syncBuiltinESMExports();
  await store.append(trades, longFrame(1, { start: 3 }));
  expect(await rowsOf(store, trades)).toHaveLength(4);
  expect(made).toHaveLength(1);
  now += 60_000;
  await store.list('default');
  await expect.poll(() => fixture.pinned()).toEqual([]);
});

test.runIf(process.platform !== 'win32')(
  'other users read what a cluster is sent to, as in the folders of the frames',
  async () => {
    const frame = await store.pin({ tenant: 'default', name: 'trades' });
    const modes = async (...paths: readonly string[]): Promise<readonly number[]> =>
      Promise.all(paths.map(async (path) => (await stat(path)).mode & 0o777));
    const own = await ownFolder();
    expect(await modes(own, join(own, 'default'))).toEqual(await modes(fixture.folder, join(fixture.folder, 'trades')));
    expect(frame?.storedPaths).toEqual((await fixture.parts('trades')).toSorted());
    frame?.release();
  },
);

test.runIf(process.getuid?.() !== 0)('a folder of the server that cannot be written is a fault', async () => {
  const own = join(await ownFolder(), 'default');
  await chmod(own, 0o500);
  await expect(store.put(trades, longFrame(1))).rejects.toMatchObject({ code: 'unavailable' });
  expect(await store.faults()).toMatchObject([{ kind: 'cannot_write' }]);
  await chmod(own, 0o700);
});
