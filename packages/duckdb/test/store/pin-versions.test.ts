import { existsSync, readdirSync, readlinkSync, renameSync, rmSync } from 'node:fs';
import { longFrame } from '@svc/frames/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pinVersions } from '../../src/store/backup/pin-versions.ts';
import { createTenantFolder, type TenantFolder, type VersionName } from '../../src/store/catalogue/tenant-folder.ts';
import type { DurableStore } from '../../src/store/durable-store.ts';
import { createStoreFixture, refOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

let fixture: StoreFixture;
let store: DurableStore;
let folder: TenantFolder;

beforeEach(async () => {
  fixture = await createStoreFixture();
  store = await fixture.open();
  for (const handle of ['a', 'b', 'c']) await store.put(refOf(handle), longFrame(1));
  folder = createTenantFolder(fixture.folder);
});

afterEach(() => fixture.remove());

/** Pins all frames; returns their handles and versions. */
async function pinAll(from: TenantFolder, signal?: AbortSignal): Promise<string[]> {
  const pinned: string[] = [];
  for await (const versions of pinVersions(from, signal)) {
    for (const { name, files } of versions) {
      pinned.push(`${name.handle}@${name.version}`);
      await Promise.all(files.map(({ file }) => file.close()));
    }
  }
  return pinned.toSorted();
}

/** The files of the folder that this process has open. Needs /proc. */
function openFiles(): string[] {
  const linkOf = (fd: string): string => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // The descriptor of the directory listing itself.
      return '';
    }
  };
  return readdirSync('/proc/self/fd')
    .map(linkOf)
    .filter((link) => link.startsWith(fixture.folder));
}

/** Returns a function that works as `method`, but for one call: the first one has number 1. */
function failAtCall<T extends unknown[], R>(number: number, method: (...args: T) => R, fail: () => void) {
  let calls = 0;
  return (...args: T): R => {
    calls += 1;
    if (calls === number) fail();
    return method(...args);
  };
}

function stop(): never {
  throw new Error('stop');
}

test.runIf(existsSync('/proc/self/fd')).each<[string, (controller: AbortController) => Partial<TenantFolder>]>([
  [
    'the signal is aborted',
    (controller) => ({
      expiryPath: failAtCall(
        2,
        (name: VersionName) => folder.expiryPath(name),
        () => controller.abort(new Error('stop')),
      ),
    }),
  ],
  [
    'a version cannot be opened',
    () => ({ framePath: failAtCall(2, (name: VersionName) => folder.framePath(name), stop) }),
  ],
  ['the folder cannot be read again', () => ({ scan: failAtCall(3, async () => folder.scan(), stop) })],
])('no file stays open if %s', async (_name, change) => {
  const controller = new AbortController();
  const failing = { ...folder, ...change(controller) };
  await expect(pinAll(failing, controller.signal)).rejects.toThrow('stop');
  expect(openFiles()).toEqual([]);
});

describe('a listing that another process changes meanwhile', () => {
  /** The folder, but a listing for which `isHidden()` is true lacks the versions, as if it had passed their names. */
  const hiding = (versions: readonly string[], isHidden: () => boolean): TenantFolder => ({
    ...folder,
    async scan() {
      const files = await folder.scan();
      if (!isHidden()) return files;
      return files.filter(({ file }) => !('version' in file && versions.includes(file.version)));
    },
  });

  /** True for the first call only. */
  const once = (): (() => boolean) => {
    let calls = 0;
    return () => (calls += 1) === 1;
  };

  const versionOf = async (handle: string): Promise<string> => (await store.describe(refOf(handle)))!.version;
  const current = async (): Promise<string[]> =>
    Promise.all(['a', 'b', 'c'].map(async (handle) => `${handle}@${await versionOf(handle)}`));

  test('does not hide a frame', async () => {
    expect(await pinAll(hiding([await versionOf('b')], once()))).toEqual(await current());
  });

  test('does not show an old version, which a reader keeps, as the current one', async () => {
    await store.put(refOf('b'), longFrame(1), { ttlSeconds: 1000 });
    const reader = await store.open(refOf('b'));
    await store.put(refOf('b'), longFrame(2), { ttlSeconds: 1000 });
    expect(await pinAll(hiding([await versionOf('b')], once()))).toEqual(await current());
    reader?.close();
  });

  /** Calls `change` with the path of the only version, before that is opened for the first time. */
  const changing = (of: TenantFolder, change: (path: string) => void): TenantFolder => {
    const isFirst = once();
    return {
      ...of,
      framePath(name) {
        const path = of.framePath(name);
        if (isFirst()) change(path);
        return path;
      },
    };
  };

  test('does not hide a frame that was replaced before it was opened', async () => {
    for (const handle of ['a', 'c']) await store.drop(refOf(handle));
    const old = await versionOf('b');
    const next = `${old.slice(0, -4)}ZZZZ`;
    let isReplaced = false;
    const isFirst = once();
    const replaced = changing(
      hiding([next], () => isReplaced && isFirst()),
      (path) => {
        renameSync(path, path.replace(old, next));
        isReplaced = true;
      },
    );
    expect(await pinAll(replaced)).toEqual([`b@${next}`]);
  });

  test('does not hide a frame that was renamed before it was opened', async () => {
    for (const handle of ['a', 'c']) await store.drop(refOf(handle));
    const version = await versionOf('b');
    expect(await pinAll(changing(folder, (path) => renameSync(path, path.replace('/b@', '/d@'))))).toEqual([
      `d@${version}`,
    ]);
  });

  test('ends the search for a frame that was removed before it was opened', async () => {
    for (const handle of ['a', 'c']) await store.drop(refOf(handle));
    expect(await pinAll(changing(folder, (path) => rmSync(path)))).toEqual([]);
  });
});
