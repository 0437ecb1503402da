import type { CatalogueEntries, Entry } from './catalogue-entries.ts';
import type { StoreProblem } from './store-problem.ts';
import { isExpired, type StoredFrame } from './stored-frame.ts';

/** How frames end: replaced, dropped or over, and then, when nobody reads them any more, without a file. */
export interface FrameRemovals {
  /** Sets when a frame ends, in memory. */
  setExpires(frame: StoredFrame, expires: Date | null): void;
  /** A frame is no longer its entry's current one. */
  retire(entry: Entry, frame: StoredFrame): void;
  /** Drops a frame so that it stays dropped. Called where nothing else changes the handle. */
  writeTombstone(frame: StoredFrame): Promise<void>;
  /** One reader less. */
  release(frame: StoredFrame): void;
  /** Begins to remove what is over. */
  removeExpired(): void;
  /** Resolves when everything that was begun is done. */
  settle(): Promise<void>;
}

/** What removals need. */
export interface RemovalOptions {
  readonly entries: CatalogueEntries;
  /** Runs work where nothing else changes the frame's handle. */
  readonly change: (frame: StoredFrame, work: () => Promise<void>) => Promise<void>;
  readonly now: () => number;
  readonly onProblem: (problem: StoreProblem) => void;
  readonly onLeave: (frame: StoredFrame) => void;
}

/** The removals of a catalogue. */
export function createFrameRemovals({ entries, change, now, onProblem, onLeave }: RemovalOptions): FrameRemovals {
  const running = new Set<Promise<void>>();
  const expiring = new Set<StoredFrame>();

  /** Work that nobody waits for but `settle`. */
  function begin(frame: StoredFrame, work: () => Promise<void>): void {
    const done = change(frame, work)
      .catch((cause: unknown) => {
        onProblem({ kind: 'not_removed', tenant: frame.tenant, handle: frame.handle, cause });
      })
      .finally(() => running.delete(done));
    running.add(done);
  }

  async function removeLeft(frame: StoredFrame): Promise<void> {
    const tenant = entries.tenantOf(frame.tenant);
    const entry = entries.entryOf(frame);
    if (entry === undefined) return;
    const left = [...entry.left].filter(({ readers }) => readers === 0);
    const isEveryOne = left.length === entry.left.size;
    await tenant.folder.remove(left, isEveryOne ? entry.tombstones : []);
    for (const one of left) entry.left.delete(one);
    if (!isEveryOne) return;
    entry.tombstones = [];
    if (entry.current === undefined) tenant.entries.delete(frame.handle.toLowerCase());
  }

  function retire(entry: Entry, frame: StoredFrame): void {
    entry.left.add(frame);
    expiring.delete(frame);
    onLeave(frame);
    if (frame.readers === 0) begin(frame, () => removeLeft(frame));
  }

  async function writeTombstone(frame: StoredFrame): Promise<void> {
    const tenant = entries.tenantOf(frame.tenant);
    const entry = entries.entryOf(frame);
    if (entry?.current !== frame) return;
    await tenant.folder.writeTombstone(frame, frame.readers === 0);
    entry.tombstones = [...entry.tombstones, frame];
    entry.current = undefined;
    tenant.sorted = undefined;
    retire(entry, frame);
  }

  async function dropExpired(frame: StoredFrame): Promise<void> {
    // For the next time, should it live on or not go now.
    expiring.add(frame);
    if (isExpired(frame, now())) await writeTombstone(frame);
  }

  return {
    setExpires(frame, expires) {
      frame.expires = expires;
      if (expires === null) expiring.delete(frame);
      else expiring.add(frame);
    },
    retire,
    writeTombstone,
    release(frame) {
      frame.readers -= 1;
      if (frame.readers === 0 && entries.entryOf(frame)?.left.has(frame)) begin(frame, () => removeLeft(frame));
    },
    removeExpired() {
      const time = now();
      for (const frame of expiring) {
        // Once is enough, however often this is called meanwhile.
        if (isExpired(frame, time) && expiring.delete(frame)) begin(frame, () => dropExpired(frame));
      }
    },
    async settle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
