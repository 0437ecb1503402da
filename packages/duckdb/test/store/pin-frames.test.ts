import { existsSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { parseHandle } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type PinnedFrame, pinFrames } from '../../src/store/backup/pin-frames.ts';
import { createTenantSlots } from '../../src/store/catalogue/frame-slots.ts';
import type { DurableStore } from '../../src/store/durable-store.ts';
import { createStoreFixture, refOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

let fixture: StoreFixture;
let store: DurableStore;

beforeEach(async () => {
  fixture = await createStoreFixture();
  store = await fixture.open();
  for (const handle of ['a', 'b', 'c']) await store.put(refOf(handle), longFrame(1));
});

afterEach(() => fixture.remove());

/** Pins all frames; returns their handles and what is missing. Calls `change` before the log of the frame at `at` is read. */
async function pinAll(
  change: () => Promise<unknown> = async () => {},
  signal?: AbortSignal,
  at = 'a',
): Promise<string[]> {
  const tenant = createTenantSlots(fixture.directory, 'default');
  const { objects } = tenant;
  let isFirst = true;
  // The first read of a log comes after the list of the folders.
  const changing = {
    ...tenant,
    objects: {
      ...objects,
      async *list(...list: Parameters<typeof objects.list>) {
        if (isFirst && list[0].startsWith(`${at}/`)) {
          isFirst = false;
          await change();
        }
        yield* objects.list(...list);
      },
    },
  };
  const pinned: string[] = [];
  for await (const frames of pinFrames(changing, signal)) {
    for (const { handle, files, missing } of frames) {
      pinned.push([handle, ...missing.map(() => 'missing')].join(' '));
      await close(files);
    }
  }
  return pinned.toSorted();
}

const close = (files: PinnedFrame['files']) => Promise.all(files.map(({ file }) => file.close()));

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

test('every frame is pinned once', async () => {
  expect(await pinAll()).toEqual(['a', 'b', 'c']);
});

test.each<[string, (store: DurableStore) => Promise<unknown>, readonly string[]]>([
  ['replaced', (changed) => changed.put(refOf('b'), longFrame(2)), ['a', 'b', 'c']],
  ['renamed', (changed) => changed.rename(refOf('b'), parseHandle('d')), ['a', 'c', 'd']],
  ['dropped', (changed) => changed.drop(refOf('b')), ['a', 'c']],
])('a frame that is %s when the folders have been listed', async (_name, change, pinned) => {
  expect(await pinAll(() => change(store))).toEqual(pinned);
});

test('a frame that gets the handle of a dropped one, whose folder was looked at, is pinned', async () => {
  const reader = await store.open(refOf('b'));
  await store.drop(refOf('b'));
  const rename = () => store.rename(refOf('c'), parseHandle('b'));
  expect(await pinAll(rename, undefined, 'c')).toEqual(['a', 'b']);
  reader?.close();
});

test('a missing file is reported, and the frame is pinned without it', async () => {
  for (const path of await fixture.parts('b')) rmSync(path);
  expect(await pinAll()).toEqual(['a', 'b missing', 'c']);
});

test.runIf(existsSync('/proc/self/fd'))('no file stays open if the signal is aborted', async () => {
  const controller = new AbortController();
  const change = async (): Promise<void> => controller.abort(new Error('stop'));
  await expect(pinAll(change, controller.signal)).rejects.toThrow('stop');
  expect(openFiles()).toEqual([]);
});

test.runIf(existsSync('/proc/self/fd'))('no file stays open if a log cannot be read', async () => {
  const change = async (): Promise<void> => {
    throw new Error('stop');
  };
  await expect(pinAll(change)).rejects.toThrow('stop');
  expect(openFiles()).toEqual([]);
});
