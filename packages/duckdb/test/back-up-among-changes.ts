import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseHandle } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { expect } from 'vitest';
import { createBackup } from '../src/store/backup/create-backup.ts';
import { restoreBackup } from '../src/store/backup/restore-backup.ts';
import { createDurableStore, type DurableStore } from '../src/store/durable-store.ts';
import { createArrowFrameFiles } from '../src/testing/arrow-frame-files.ts';
import { refOf, rowsOf, type StoreFixture } from '../src/testing/store-fixture.ts';

const TTL = { ttlSeconds: 100_000 };

/** Changes that go on until they are stopped. */
interface Writers {
  /** The rows of `appended` that were acknowledged. */
  readonly appended: () => number;
  stop(): Promise<void>;
}

/** Starts to append to one frame, replace another, do both to a third that expires, rename one, and make and drop one. */
function startWriters(store: DurableStore): Writers {
  const stopped = new AbortController();
  let appended = 0;
  const again = async (change: (round: number) => Promise<unknown>): Promise<void> => {
    for (let round = 1; !stopped.signal.aborted; round += 1) await change(round);
  };
  const done = Promise.all([
    again(async (round) => {
      await store.append(refOf('appended'), longFrame(3));
      appended = round * 3;
    }),
    again((round) => store.put(refOf('replaced'), longFrame(round % 500))),
    again(async (round) => {
      if (round % 3 === 1) await store.put(refOf('expiring'), longFrame(2), TTL);
      else await store.append(refOf('expiring'), longFrame(2));
    }),
    again((round) => store.rename(refOf(`moving-${(round - 1) % 2}`), parseHandle(`moving-${round % 2}`))),
    again(async (round) => {
      await store.put(refOf('dropped'), longFrame(round), TTL);
      await store.drop(refOf('dropped'));
    }),
  ]);
  return {
    appended: () => appended,
    async stop() {
      stopped.abort();
      await done;
    },
  };
}

/** Makes backups while frames change, and compares each with what was acknowledged before it. */
export async function backUpAmongChanges(
  fixture: StoreFixture,
  { folder, backups }: { readonly folder: string; readonly backups: number },
): Promise<void> {
  const store = await fixture.open({ cacheBytes: 0, mergeAbove: 8 });
  for (const handle of ['appended', 'replaced', 'still']) await store.put(refOf(handle), longFrame(0));
  await store.put(refOf('expiring'), longFrame(2), TTL);
  await store.put(refOf('moving-0'), longFrame(5));
  const writers = startWriters(store);
  try {
    for (let round = 0; round < backups; round += 1) {
      const [backup, restored] = [join(folder, 'backup'), join(folder, 'restored')];
      const before = writers.appended();
      expect(await createBackup({ directory: fixture.directory, destination: backup })).toMatchObject({ problems: [] });
      const after = writers.appended() + 3;
      await restoreBackup({ backup, directory: restored });
      await checkRestored(join(restored, 'cold'), before, after);
      await Promise.all([backup, restored].map((path) => rm(path, { recursive: true })));
    }
  } finally {
    await writers.stop();
  }
  expect(writers.appended()).toBeGreaterThan(0);
}

async function checkRestored(directory: string, atLeast: number, atMost: number): Promise<void> {
  const store = await createDurableStore({ directory, files: createArrowFrameFiles() });
  try {
    const rows = async (handle: string): Promise<number> => (await rowsOf(store, refOf(handle)))?.length ?? -1;
    const appended = await rowsOf(store, refOf('appended'));
    const count = appended?.length ?? -1;
    expect(count).toBeGreaterThanOrEqual(atLeast);
    expect(count).toBeLessThanOrEqual(atMost);
    expect(appended).toEqual(Array.from({ length: count }, (_, at) => [BigInt(at % 3)]));
    expect(await rows('still')).toBe(0);
    expect(await rows('replaced')).toBeGreaterThanOrEqual(0);
    expect([2, 4, 6]).toContain(await rows('expiring'));
    expect([await rows('moving-0'), await rows('moving-1')]).toContain(5);
    for (const { handle, expires } of await store.list('default')) {
      expect({ handle, isExpiring: expires !== null }).toEqual({ handle, isExpiring: /expiring|dropped/.test(handle) });
    }
  } finally {
    await store.close();
  }
}
