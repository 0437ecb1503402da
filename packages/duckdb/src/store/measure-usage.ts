import { stat, statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreUsage } from '@svc/frames';
import { createYield } from '@svc/frames/internal';
import type { StoreParts } from './store-parts.ts';
import { pathsOf, type StoredFrame } from './catalogue/stored-frame.ts';
import { forEachConcurrently } from './catalogue/tenant-folder.ts';

/** Health checks measure the usage: a disk that does not respond must not block them. */
const STATFS_TIMEOUT_MS = 1000;

/** Measures the disk space that frames take, and the free space. */
export async function measureUsage({ catalogue, directory }: StoreParts): Promise<StoreUsage> {
  catalogue.removeExpired();
  const { current, left } = catalogue.needed();
  const sizes = new Map<string, number>();
  const unknown: StoredFrame[] = [];
  const pause = createYield();
  for (const frame of [...current, ...left]) {
    await pause();
    const { source, fileBytes } = frame;
    const parts = source.kind === 'parts' ? source.parts : [];
    // Versions share parts, which count once.
    for (const { path, size } of parts) sizes.set(path, size?.fileBytes ?? fileBytes ?? 0);
    if (fileBytes === undefined) unknown.push(frame);
  }
  await forEachConcurrently(unknown, async (frame) => {
    const [path = ''] = pathsOf(frame);
    frame.fileBytes = (await stat(path).catch(() => undefined))?.size ?? 0;
    sizes.set(path, frame.fileBytes);
  });
  let bytes = 0;
  for (const size of sizes.values()) bytes += size;
  // A failing disk counts as full; the failure itself is among the faults of the store.
  const noRoom = { bavail: 0, bsize: 0 };
  const timeout = sleep(STATFS_TIMEOUT_MS, noRoom, { ref: false });
  const disk = await Promise.race([statfs(directory).catch(() => noRoom), timeout]);
  return {
    frames: current.length,
    bytes,
    freeBytes: disk.bavail * disk.bsize,
  };
}
