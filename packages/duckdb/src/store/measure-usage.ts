import { stat, statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreUsage } from '@svc/frames';
import type { StoreParts } from './store-parts.ts';
import { forEachConcurrently } from './catalogue/tenant-folder.ts';

/** Health checks measure the usage: a disk that does not respond must not block them. */
const STATFS_TIMEOUT_MS = 1000;

/** Measures the disk space that frames take, and the free space. */
export async function measureUsage({ catalogue, directory }: StoreParts): Promise<StoreUsage> {
  catalogue.removeExpired();
  const { current, left } = catalogue.needed();
  const all = [...current, ...left];
  await forEachConcurrently(
    all.filter(({ fileBytes }) => fileBytes === undefined),
    async (frame) => {
      frame.fileBytes = (await stat(frame.source.path).catch(() => undefined))?.size ?? 0;
    },
  );
  // A failing disk counts as full; the failure itself is among the faults of the store.
  const noRoom = { bavail: 0, bsize: 0 };
  const timeout = sleep(STATFS_TIMEOUT_MS, noRoom, { ref: false });
  const disk = await Promise.race([statfs(directory).catch(() => noRoom), timeout]);
  return {
    frames: current.length,
    bytes: all.reduce((bytes, frame) => bytes + (frame.fileBytes ?? 0), 0),
    freeBytes: disk.bavail * disk.bsize,
  };
}
