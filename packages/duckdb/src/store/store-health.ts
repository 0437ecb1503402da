import { open, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { quoted } from '@svc/errors/internal';
import type { StoreFault } from '@svc/frames';
import type { StoreProblem } from './catalogue/store-problem.ts';
import { pathsOf, type StoredFrame } from './catalogue/stored-frame.ts';
import type { TenantFolder } from './catalogue/tenant-folder.ts';
import { diskFault } from './store-errors.ts';

/** Judges by changes and the lock if a directory can be written to. */
export interface WriteHealth {
  /** Runs a change in the folder of a tenant, and remembers if the disk refused it. */
  observe<T>(tenant: string, change: () => Promise<T>): Promise<T>;
  /** Returns the faults of every put. Fast, even on a hanging disk. */
  faults(): Promise<readonly StoreFault[]>;
}

/** Options of `createWriteHealth`. */
export interface WriteHealthOptions {
  /** Where a put writes. */
  readonly foldersOf: (tenant: string) => readonly TenantFolder[];
  /** The last error of the directory lock. */
  readonly lockFailure: () => unknown;
}

/** The size of the probe: large enough to need a disk block. */
const PROBE_BYTES = 4096;
/** How long the result of a probe is valid. */
const PROBED_MS = 1000;
/** How long a probe may take before the disk counts as not responding. */
const PROBE_TIMEOUT_MS = 1000;

const NO_RESPONSE = 'The disk that stores the frames does not respond.';

/** Tracks the health of a directory. Writes to it only after a change has failed. */
export function createWriteHealth({ foldersOf, lockFailure }: WriteHealthOptions): WriteHealth {
  /** The tenant whose change the disk refused, until another change or a probe succeeds. */
  let refused: string | undefined;
  let probed: { readonly atMs: number; readonly fault: Promise<string | undefined>; isDone: boolean } | undefined;

  async function probe(tenant: string): Promise<string | undefined> {
    try {
      for (const folder of foldersOf(tenant)) await writeProbe(folder);
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
        if (isOfDisk(error)) refused = tenant;
        throw error;
      }
    },
    async faults() {
      const message = diskFault(lockFailure()) ?? (refused === undefined ? undefined : await lastProbe(refused));
      return message === undefined ? [] : [{ kind: 'cannot_write', message }];
    },
  };
}

/** True if a disk reported an error, or caused one: the outcome of a change may not be known. */
function isOfDisk(error: unknown): boolean {
  if (diskFault(error) !== undefined) return true;
  return error instanceof Error && error.cause !== undefined && isOfDisk(error.cause);
}

/** Writes and removes a file. If it stays, the next start sweeps it. */
async function writeProbe(folder: TenantFolder): Promise<void> {
  const path = await folder.newFile();
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

/** The frames with files known to be damaged or missing. */
export interface DamagedFrames {
  /** Records a frame with a damaged or missing file. Reports a problem the first time. */
  add(frame: StoredFrame, cause: unknown): void;
  /** Forgets a dropped or replaced frame. Its `successor` may have the same files and more. */
  remove(frame: StoredFrame, successor?: StoredFrame): void;
  /** Returns the frames with unchanged files. A changed file counts again when it is read. */
  faults(): Promise<readonly StoreFault[]>;
}

/** The most frames of one health check. */
export const MAX_FAULTS = 100;

/** Creates an empty set. */
export function createDamagedFrames(onProblem: (problem: StoreProblem) => void): DamagedFrames {
  const frames = new Map<StoredFrame, Promise<string | undefined>>();

  async function isSame(frame: StoredFrame, version: Promise<string | undefined>): Promise<boolean> {
    return (await version) === (await versionOf(frame));
  }

  return {
    add(frame, cause) {
      if (frames.has(frame)) return;
      frames.set(frame, versionOf(frame));
      frame.isReported = true;
      const { tenant, handle } = frame;
      onProblem({ kind: 'damaged_frame', tenant, handle, cause });
    },
    remove(frame, successor) {
      if (!frames.delete(frame) || successor === undefined) return;
      const paths = new Set(pathsOf(successor));
      const own = pathsOf(frame);
      if (own.length > 0 && own.every((path) => paths.has(path))) frames.set(successor, versionOf(successor));
    },
    async faults() {
      const looked = await Promise.all(
        [...frames].slice(0, MAX_FAULTS).map(async ([frame, version]) => {
          if (await isSame(frame, version)) return [faultOf(frame, (await version) === undefined)];
          frames.delete(frame);
          return [];
        }),
      );
      return looked.flat();
    },
  };
}

function faultOf({ tenant, handle }: StoredFrame, isMissing: boolean): StoreFault {
  const state = isMissing ? 'missing' : 'damaged';
  return { kind: 'damaged_frame', message: `The file of the frame ${quoted(handle)} is ${state}.`, tenant, handle };
}

/** Identifies the contents of all files of a frame, under whatever names. Undefined if one is missing. */
async function versionOf(frame: StoredFrame): Promise<string | undefined> {
  const files = pathsOf(frame).map(async (path) => {
    const { ino, mtimeNs, size } = await stat(path, { bigint: true });
    return [ino, mtimeNs, size].join('-');
  });
  return Promise.all(files).then(
    (versions) => versions.join(),
    () => undefined,
  );
}
