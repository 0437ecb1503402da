import { stat, statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreUsage } from '@svc/frames';
import type { StoreParts } from './store-parts.ts';
import { forEachConcurrently } from './catalogue/tenant-folder.ts';

/** Health checks ask for the usage: a disk that does not answer must not hang them. */
const STATFS_TIMEOUT_MS = 1000;

/** What the frames that were put take on disk, and what is left of it. */
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
  // A disk that fails has no room: what is wrong with it is a fault of the store.
  const noRoom = { bavail: 0, bsize: 0 };
  const timeout = sleep(STATFS_TIMEOUT_MS, noRoom, { ref: false });
  const disk = await Promise.race([statfs(directory).catch(() => noRoom), timeout]);
  return {
    frames: current.length,
    bytes: all.reduce((bytes, frame) => bytes + (frame.fileBytes ?? 0), 0),
    freeBytes: disk.bavail * disk.bsize,
  };
}
