import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { longFrame } from '@svc/frames/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
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

/** Returns a function that works as `method` until it is called for the second time. */
function failAtSecondCall<T extends unknown[], R>(method: (...args: T) => R, fail: () => void): (...args: T) => R {
  let calls = 0;
  return (...args) => {
    calls += 1;
    if (calls === 2) fail();
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
      expiryPath: failAtSecondCall(
        (name: VersionName) => folder.expiryPath(name),
        () => controller.abort(new Error('stop')),
      ),
    }),
  ],
  [
    'a version cannot be opened',
    () => ({ framePath: failAtSecondCall((name: VersionName) => folder.framePath(name), stop) }),
  ],
  ['the folder cannot be read again', () => ({ scan: failAtSecondCall(async () => folder.scan(), stop) })],
])('no file stays open if %s', async (_name, change) => {
  const controller = new AbortController();
  const failing = { ...folder, ...change(controller) };
  await expect(pinAll(failing, controller.signal)).rejects.toThrow('stop');
  expect(openFiles()).toEqual([]);
});
