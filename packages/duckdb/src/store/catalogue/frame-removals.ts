import type { CatalogueEntries, Entry, Tenant } from './catalogue-entries.ts';
import type { StoreProblem } from './store-problem.ts';
import { isExpired, pathsOf, type StoredFrame } from './stored-frame.ts';

/** Removes frames that were replaced, were dropped or have expired. Their files go when they have no readers. */
export interface FrameRemovals {
  /** Sets the expiry of a frame, in memory. */
  setExpires(frame: StoredFrame, expires: Date | null): void;
  /** Retires a frame that is no longer the current one of its entry. */
  retire(entry: Entry, frame: StoredFrame, replacement?: Replacement): void;
  /** Drops a frame durably. Call this only inside `change`. */
  drop(frame: StoredFrame): Promise<void>;
  /** Retires a frame whose tombstone is durable. */
  retireDropped(frame: StoredFrame, replacement?: Replacement): void;
  /** Releases a frame for one reader. */
  release(frame: StoredFrame): void;
  /** Starts to remove expired frames. */
  removeExpired(): void;
  /** Resolves when all removals in progress are done. */
  settle(): Promise<void>;
}

/** The version that took the place of another. */
export interface Replacement {
  readonly successor?: StoredFrame;
  /** Whether it has the same rows. */
  readonly isSame?: boolean;
}

/** Options of `createFrameRemovals`. */
export interface RemovalOptions {
  readonly entries: CatalogueEntries;
  /** Runs work while nothing else changes the frame's handle. */
  readonly change: (frame: StoredFrame, work: () => Promise<void>) => Promise<void>;
  readonly now: () => number;
  readonly onProblem: (problem: StoreProblem) => void;
  readonly onExpired: (frame: StoredFrame) => void;
  readonly onLeave: (frame: StoredFrame, replacement?: Replacement) => void;
}

/** Returns the files that the other versions of a handle list. */
function neededFiles({ current, left }: Entry, versions: readonly StoredFrame[]): ReadonlySet<string> {
  const removed = new Set(versions);
  const others = [...(current ? [current] : []), ...left].filter((frame) => !removed.has(frame));
  return new Set(others.flatMap(pathsOf));
}

/** Returns the files of versions that no other version lists. */
function unusedFiles({ folder }: Tenant, entry: Entry, versions: readonly StoredFrame[]): string[] {
  const needed = neededFiles(entry, versions);
  const paths = versions.flatMap((frame) => [folder.framePath(frame), ...pathsOf(frame)]);
  return [...new Set(paths)].filter((path) => !needed.has(path));
}

/** Returns all older files of a handle if a version is a manifest that could not be read: it may list any of them. */
async function unlistedFiles({ folder }: Tenant, entry: Entry, versions: readonly StoredFrame[]): Promise<string[]> {
  const unread = versions.filter((frame) => frame.isManifest && pathsOf(frame).length === 0);
  if (unread.length === 0) return [];
  const needed = neededFiles(entry, versions);
  const files = await folder.scan();
  return files.flatMap(({ path, file }) => {
    const isOlder =
      (file.kind === 'frame' || file.kind === 'part' || file.kind === 'manifest') &&
      unread.some(
        ({ handle, version }) => file.handle.toLowerCase() === handle.toLowerCase() && file.version <= version,
      );
    return isOlder && !needed.has(path) ? [path] : [];
  });
}

/** Removes the old versions of a handle that have no readers, and tombstones that are no longer needed. */
async function removeLeft(entries: CatalogueEntries, frame: StoredFrame): Promise<void> {
  const tenant = entries.tenantOf(frame.tenant);
  const entry = entries.entryOf(frame);
  if (entry === undefined) return;
  const left = [...entry.left].filter(({ readers }) => readers === 0);
  const isEveryOne = left.length === entry.left.size;
  const unused = [...unusedFiles(tenant, entry, left), ...(await unlistedFiles(tenant, entry, left))];
  await tenant.folder.remove(unused, left, isEveryOne ? entry.tombstones : []);
  for (const one of left) entry.left.delete(one);
  if (!isEveryOne) return;
  entry.tombstones = [];
  if (entry.current === undefined) tenant.entries.delete(frame.handle.toLowerCase());
}

/** Creates the removals of a catalogue. */
export function createFrameRemovals(options: RemovalOptions): FrameRemovals {
  const { entries, change, now, onProblem, onExpired, onLeave } = options;
  const running = new Set<Promise<void>>();
  const expiring = new Set<StoredFrame>();

  /** Starts background work, which only `settle` awaits. */
  function begin(frame: StoredFrame, work: () => Promise<void>): void {
    const done = change(frame, work)
      .catch((cause: unknown) => {
        onProblem({ kind: 'not_removed', tenant: frame.tenant, handle: frame.handle, cause });
      })
      .finally(() => running.delete(done));
    running.add(done);
  }

  function retire(entry: Entry, frame: StoredFrame, replacement?: Replacement): void {
    entry.left.add(frame);
    expiring.delete(frame);
    onLeave(frame, replacement);
    if (frame.readers === 0) begin(frame, () => removeLeft(entries, frame));
  }

  function retireDropped(frame: StoredFrame, replacement?: Replacement): void {
    const entry = entries.entryOf(frame);
    if (entry?.current !== frame) return;
    entry.tombstones = [...entry.tombstones, frame];
    entry.current = undefined;
    entries.tenantOf(frame.tenant).sorted = undefined;
    retire(entry, frame, replacement);
  }

  async function drop(frame: StoredFrame): Promise<void> {
    if (entries.entryOf(frame)?.current !== frame) return;
    await entries.tenantOf(frame.tenant).folder.writeTombstone(frame, frame.readers === 0);
    retireDropped(frame);
  }

  async function dropExpired(frame: StoredFrame): Promise<void> {
    if (entries.entryOf(frame)?.current !== frame) return;
    // Keep it in the set, in case its expiry was extended or the drop fails.
    expiring.add(frame);
    if (isExpired(frame, now())) await drop(frame).then(() => onExpired(frame));
  }

  return {
    setExpires(frame, expires) {
      frame.expires = expires;
      if (expires === null) expiring.delete(frame);
      else expiring.add(frame);
    },
    retire,
    drop,
    retireDropped,
    release(frame) {
      frame.readers -= 1;
      if (frame.readers === 0 && entries.entryOf(frame)?.left.has(frame))
        begin(frame, () => removeLeft(entries, frame));
    },
    removeExpired() {
      const time = now();
      for (const frame of expiring) {
        // Deleted from the set, so that a second call does not start the drop again.
        if (isExpired(frame, time) && expiring.delete(frame)) begin(frame, () => dropExpired(frame));
      }
    },
    async settle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
