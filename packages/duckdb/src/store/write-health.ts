import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreFault } from '@svc/frames';
import { diskFault } from './store-errors.ts';
import type { TenantFolder } from './catalogue/tenant-folder.ts';

/** Whether a directory can be written to, as its changes and its lock have found out. */
export interface WriteHealth {
  /** Runs a change in the folder of a tenant, and remembers whether the disk refused it. */
  observe<T>(tenant: string, change: () => Promise<T>): Promise<T>;
  /** What keeps every put from succeeding. Quick, also on a disk that does not answer. */
  faults(): Promise<readonly StoreFault[]>;
}

/** What is looked at. */
export interface WriteHealthOptions {
  readonly folderOf: (tenant: string) => TenantFolder;
  /** What the lock of the directory has found out last. */
  readonly lockFailure: () => unknown;
}

/** A small file shows whether a put can succeed. One that large needs a block of the disk. */
const PROBE_BYTES = 4096;
/** How long what a probe has found out counts. */
const PROBED_MS = 1000;
/** How long a probe may take before the disk is said not to answer. */
const PROBE_TIMEOUT_MS = 1000;

const NO_ANSWER = 'The disk that keeps the frames does not answer.';

/** The health of a directory. Nothing is written to it unless a change has failed. */
export function createWriteHealth({ folderOf, lockFailure }: WriteHealthOptions): WriteHealth {
  /** The tenant whose change the disk refused, until another change or a probe succeeds. */
  let refused: string | undefined;
  let probed: { readonly atMs: number; readonly fault: Promise<string | undefined>; isDone: boolean } | undefined;

  async function probe(tenant: string): Promise<string | undefined> {
    try {
      await writeProbe(folderOf(tenant));
      if (refused === tenant) refused = undefined;
      return undefined;
    } catch (error) {
      return diskFault(error) ?? 'The directory of the frames cannot be written.';
    }
  }

  function lastProbe(tenant: string): Promise<string | undefined> {
    // No second probe beside one that hangs: each holds a thread.
    if (probed === undefined || (probed.isDone && performance.now() - probed.atMs > PROBED_MS)) {
      const begun = probe(tenant);
      const timeout = sleep(PROBE_TIMEOUT_MS, NO_ANSWER, { ref: false });
      const next = { atMs: performance.now(), fault: Promise.race([begun, timeout]), isDone: false };
      probed = next;
      void begun.then(() => (next.isDone = true));
    }
    return probed.fault;
  }

  return {
    async observe(tenant, change) {
      try {
        const result = await change();
        // A drop or an expiry of a frame that is not there writes nothing.
        if (result !== undefined && result !== false) refused = undefined;
        return result;
      } catch (error) {
        if (diskFault(error) !== undefined) refused = tenant;
        throw error;
      }
    },
    async faults() {
      const message = diskFault(lockFailure()) ?? (refused === undefined ? undefined : await lastProbe(refused));
      return message === undefined ? [] : [{ kind: 'cannot_write', message }];
    },
  };
}

/** Writes and removes a file that would be swept at the next start. */
async function writeProbe(folder: TenantFolder): Promise<void> {
  await folder.prepare();
  const path = folder.unfinishedPath();
  try {
    const file = await open(path, 'wx');
    try {
      await file.writeFile(Buffer.alloc(PROBE_BYTES));
    } finally {
      await file.close();
    }
  } finally {
    await folder.discard(path);
  }
}
