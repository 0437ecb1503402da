// A process that was stopped until another one took over its directory must not undo what that has acknowledged.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import fs, { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { parseHandle } from '@svc/frames';
import { longFrame, readRows } from '@svc/frames/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createFrameVersions } from '../../src/store/catalogue/frame-versions.ts';
import { FRAME_CODEC } from '../../src/store/log/frame-entry.ts';
import { entryName } from '../../src/store/log/frame-log.ts';
import type { DurableStore, DurableStoreOptions } from '../../src/store/durable-store.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

let fixture: StoreFixture;
let problems: unknown[];
let first: DurableStore;

beforeEach(async () => {
  fixture = await createStoreFixture();
  problems = [];
  first = await fixture.open({ cacheBytes: 0, onProblem: (problem) => problems.push(problem) });
});

afterEach(() => fixture.remove());

/** Opens the directory as a process does that finds the lock of the first one stale. */
async function takeOver(options?: Partial<DurableStoreOptions>): Promise<DurableStore> {
  for (const name of await readdir(fixture.directory)) {
    if (name.startsWith('.lock')) await rm(join(fixture.directory, name));
  }
  return fixture.open(options);
}

test.each<[string, (second: DurableStore) => Promise<unknown>]>([
  ['replaced', (second) => second.put(refOf('a'), longFrame(5))],
  ['dropped', (second) => second.drop(refOf('a'))],
  ['renamed', (second) => second.rename(refOf('a'), parseHandle('b'))],
])('a reader goes on with the version that it has opened when another process has %s the frame', async (_, change) => {
  await first.put(refOf('a'), longFrame(2));
  await first.append(refOf('a'), longFrame(2, { start: 2 }));
  const reader = await first.open(refOf('a'));
  await change(await takeOver());
  expect(await fixture.pinned()).toHaveLength(2);
  expect((await readRows(reader!.read())).flat()).toEqual([0n, 1n, 2n, 3n]);
  reader?.close();
});

/** Opens the directory a second time, while the first process goes on. */
async function openBeside(options?: Partial<DurableStoreOptions>): Promise<DurableStore> {
  const locks = (await readdir(fixture.directory)).filter((name) => name.startsWith('.lock'));
  const kept = await Promise.all(
    locks.map(async (name) => [name, await readFile(join(fixture.directory, name))] as const),
  );
  const second = await takeOver(options);
  for (const [name, content] of kept) await writeFile(join(fixture.directory, name), content);
  return second;
}

test('two processes append to a frame and merge its parts: every row is there once, and no other file', async () => {
  await first.close();
  const options = { mergeAbove: 3, onProblem: (problem: unknown) => problems.push(problem) };
  first = await fixture.open(options);
  const second = await openBeside(options);
  await first.put(refOf('a'), longFrame(1));
  const appends = Array.from({ length: 40 }, async (_, i) => {
    await (i % 2 === 0 ? first : second).append(refOf('a'), longFrame(1, { start: i + 1 }));
  });
  await Promise.all(appends);
  await Promise.all([first.close(), second.close()]);
  const third = await fixture.open();
  const rows = (await rowsOf(third, refOf('a')))?.flat().toSorted((a, b) => Number(a) - Number(b));
  expect(rows).toEqual(Array.from({ length: 41 }, (_, i) => BigInt(i)));
  const { state } = FRAME_CODEC.decode(await readFile(await fixture.entry('a')));
  expect(await fixture.parts('a')).toHaveLength(state.rows?.parts.length ?? 0);
  expect(problems).toEqual([]);
});

test('of two processes that replace the version that both know, one succeeds', async () => {
  const second = await openBeside();
  let { version } = (await first.put(refOf('a'), longFrame(1))).info;
  for (let round = 2; round < 22; round++) {
    const puts = [first, second].map((store) => store.put(refOf('a'), longFrame(round), { ifVersion: version }));
    const outcomes = await Promise.allSettled(puts);
    const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.info] : []));
    expect(won).toHaveLength(1);
    version = won[0]?.version ?? '';
  }
  await Promise.all([first.close(), second.close()]);
  expect(await rowsOf(await fixture.open(), refOf('a'))).toHaveLength(21);
  expect(problems).toEqual([]);
});

test.each([
  ['next', 1],
  ['first', 0],
])('a process that finds a part without an entry does not take it from the %s version', async (_, before) => {
  if (before > 0) await first.put(refOf('a'), longFrame(1));
  let isOpened = false;
  const { link } = fs;
  onTestFinished(() => {
    Object.assign(fs, { link });
    syncBuiltinESMExports();
  });
  let second: DurableStore | undefined;
  Object.assign(fs, {
    link: async (from: string, to: string) => {
      await link(from, to);
      if (isOpened || !to.endsWith('.parquet') || !to.startsWith(fixture.folder)) return;
      isOpened = true;
      second = await openBeside();
      expect((await rowsOf(second, refOf('a')))?.length ?? 0).toBe(before);
      await expect.poll(() => fixture.parts('a').catch(() => [])).toHaveLength(before);
      await second.close();
    },
  });
  syncBuiltinESMExports();
  await first.append(refOf('a'), longFrame(1, { start: 1 }));
  await second?.close();
  await first.close();
  expect((await rowsOf(await fixture.open(), refOf('a')))?.flat()).toEqual(before > 0 ? [0n, 1n] : [1n]);
  expect(await fixture.parts('a')).toHaveLength(before + 1);
  expect(problems).toEqual([]);
});

test('the end of a reader after the store is closed removes nothing', async () => {
  await first.put(refOf('a'), longFrame(1));
  // So the part is read in place.
  await writeFile(join(fixture.directory, 'taken'), '');
  const { link } = fs;
  onTestFinished(() => {
    Object.assign(fs, { link });
    syncBuiltinESMExports();
  });
  Object.assign(fs, {
    link: (from: string, to: string) => link(from, to.includes('.process-') ? join(fixture.directory, 'taken/x') : to),
  });
  syncBuiltinESMExports();
  const reader = await first.open(refOf('a'));
  await first.put(refOf('a'), longFrame(2));
  await first.close();
  const names = await fixture.names();
  reader?.close();
  expect(await rowsOf(await fixture.open({ isReadOnly: true }), refOf('a'))).toHaveLength(2);
  expect(await fixture.names()).toEqual(names);
});

describe('a change runs on what another process has made, whenever that was', () => {
  let version = '';

  /** Writes the next entry of a frame as another process would: a new version with the same rows. */
  function interfere(): void {
    const folder = join(fixture.folder, 'a', '_delta_log');
    const number = readdirSync(folder).length;
    const { state } = FRAME_CODEC.decode(readFileSync(join(folder, entryName(number - 1))));
    version = createFrameVersions(Date.now).next(state.version);
    const entry = { id: 'other', recent: [], state: { ...state, version } };
    writeFileSync(join(folder, entryName(number)), FRAME_CODEC.encode(entry, state));
  }

  /** The clock is asked again and again during a change. */
  async function openInterfered(at: number): Promise<DurableStore> {
    await first.put(refOf('a'), longFrame(1));
    await first.close();
    let asked = -1;
    const now = (): number => {
      if (asked >= 0 && (asked += 1) === at) interfere();
      return Date.now();
    };
    const store = await fixture.open({ now });
    version = (await store.describe(refOf('a')))?.version ?? '';
    asked = 0;
    return store;
  }

  const MOMENTS = Array.from({ length: 10 }, (_, at) => at + 1);
  const idsIn = async (handle: string): Promise<unknown> =>
    (await rowsOf(await fixture.open({ isReadOnly: true }), refOf(handle)))?.map(([id]) => Number(id));

  test.each(MOMENTS)('append, at moment %i', async (at) => {
    const store = await openInterfered(at);
    const { info } = await store.append(refOf('a'), longFrame(1, { start: 1 }));
    expect(info.version > version).toBe(true);
    await store.close();
    expect(await idsIn('a')).toEqual([0, 1]);
  });

  test.each(MOMENTS)('put, at moment %i', async (at) => {
    const store = await openInterfered(at);
    const { info } = await store.put(refOf('a'), longFrame(1, { start: 1 }));
    expect(info.version > version).toBe(true);
    await store.close();
    expect(await idsIn('a')).toEqual([1]);
  });

  test.each(MOMENTS)('put of a known version, at moment %i', async (at) => {
    const store = await openInterfered(at);
    const known = version;
    const put = store.put(refOf('a'), longFrame(1, { start: 1 }), { ifVersion: known });
    const isPut = await put.then(
      () => true,
      (error: unknown) => expect(error).toMatchObject({ code: 'version_conflict' }),
    );
    expect(isPut === true).toBe(version === known);
    await store.close();
    expect(await idsIn('a')).toEqual(isPut === true ? [1] : [0]);
  });

  test.each(MOMENTS)('expire, at moment %i', async (at) => {
    const store = await openInterfered(at);
    expect((await store.expire(refOf('a'), 60))?.version).toBe(version);
    await store.close();
    expect((await (await fixture.open()).describe(refOf('a')))?.expires).not.toBeNull();
  });

  test.each(MOMENTS)('rename, at moment %i', async (at) => {
    const store = await openInterfered(at);
    const renamed = await store.rename(refOf('a'), parseHandle('b'));
    expect((renamed?.version ?? '') > version).toBe(true);
    await store.close();
    expect([await idsIn('a'), await idsIn('b')]).toEqual([undefined, [0]]);
  });

  test.each(MOMENTS)('drop, at moment %i', async (at) => {
    const store = await openInterfered(at);
    expect(await store.drop(refOf('a'))).toBe(true);
    await store.close();
    expect(await idsIn('a')).toBeUndefined();
  });
});
