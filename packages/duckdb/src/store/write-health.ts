import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreFault } from '@svc/frames';
import { diskFault } from './store-errors.ts';
import type { TenantFolder } from './catalogue/tenant-folder.ts';

/** Whether a directory can be written to, judged by its changes and its lock. */
export interface WriteHealth {
  /** Runs a change in the folder of a tenant, and remembers whether the disk refused it. */
  observe<T>(tenant: string, change: () => Promise<T>): Promise<T>;
  /** Returns the faults that make every put fail. Fast, even on a disk that does not respond. */
  faults(): Promise<readonly StoreFault[]>;
}

/** Options of `createWriteHealth`. */
export interface WriteHealthOptions {
  readonly folderOf: (tenant: string) => TenantFolder;
  /** The last error of the directory lock. */
  readonly lockFailure: () => unknown;
}

/** The size of the file that shows whether a put can succeed: large enough to need a disk block. */
const PROBE_BYTES = 4096;
/** How long the result of a probe is valid. */
const PROBED_MS = 1000;
/** How long a probe may take before the disk counts as not responding. */
const PROBE_TIMEOUT_MS = 1000;

const NO_RESPONSE = 'The disk that stores the frames does not respond.';

/** Tracks the health of a directory. Writes to it only after a change has failed. */
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
      return diskFault(error) ?? 'The frames directory cannot be written.';
    }
  }

  function lastProbe(tenant: string): Promise<string | undefined> {
    // No second probe while one hangs: each blocks a thread.
    if (probed === undefined || (probed.isDone && performance.now() - probed.atMs > PROBED_MS)) {
      const begun = probe(tenant);
      const timeout = sleep(PROBE_TIMEOUT_MS, NO_RESPONSE, { ref: false });
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
        // Dropping or expiring a missing frame writes nothing.
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

/** Writes and removes a file. If it stays, the next start sweeps it. */
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
