import type { FrameRef } from '@svc/frames';
import { createCatalogueEntries, frameOf } from './catalogue-entries.ts';
import type { StoreProblem } from './store-problem.ts';
import { createFrameRemovals } from './frame-removals.ts';
import type { FrameVersions } from './frame-versions.ts';
import { createKeyedQueue } from './keyed-queue.ts';
import { loadCatalogue } from './load-catalogue.ts';
import { type FrameContents, isExpired, type StoredFrame } from './stored-frame.ts';
import type { TenantFolder } from './tenant-folder.ts';

/** The frames of all tenants that were put, as the directory has them. */
export interface Catalogue {
  /** Finds a frame that has not expired by its handle, ignoring case. */
  find(ref: FrameRef): StoredFrame | undefined;
  /** The frames of a tenant, sorted by handle. */
  of(tenant: string): readonly StoredFrame[];
  /** All frames whose files are needed: the current ones, and old ones that still have readers. */
  needed(): { readonly current: readonly StoredFrame[]; readonly left: readonly StoredFrame[] };
  folderOf(tenant: string): TenantFolder;
  /** Runs changes of one handle one at a time. Call the three methods below only inside. */
  change<T>(ref: FrameRef, work: () => Promise<T>): Promise<T>;
  publish(ref: FrameRef, unfinishedPath: string, contents: FrameContents, expires: Date | null): Promise<StoredFrame>;
  drop(frame: StoredFrame): Promise<void>;
  setExpiry(frame: StoredFrame, expires: Date | null): Promise<void>;
  /** Keeps the file of a frame until it is released. */
  acquire(frame: StoredFrame): void;
  release(frame: StoredFrame): void;
  /** Starts to remove expired frames. */
  removeExpired(): void;
  /** Reads the directory again. */
  rescan(): Promise<void>;
  /** Resolves when all removals in progress are done. */
  settle(): Promise<void>;
}

/** Options of `createCatalogue`. */
export interface CatalogueOptions {
  readonly directory: string;
  readonly isReadOnly: boolean;
  readonly versions: FrameVersions;
  readonly now: () => number;
  readonly onProblem: (problem: StoreProblem) => void;
  /** Called with a frame that was replaced, was dropped or has expired. */
  readonly onLeave: (frame: StoredFrame) => void;
}

/** Loads the catalogue of a directory. */
export async function createCatalogue(options: CatalogueOptions): Promise<Catalogue> {
  const { directory, isReadOnly, versions, now, onProblem, onLeave } = options;
  const entries = createCatalogueEntries(directory);
  const queue = createKeyedQueue();
  const change = <T>({ tenant, handle }: FrameRef, work: () => Promise<T>): Promise<T> =>
    queue.run(`${tenant}\0${handle.toLowerCase()}`, work);
  const removals = createFrameRemovals({ entries, change, now, onProblem, onLeave });
  const load = (): Promise<void> => loadCatalogue({ directory, entries, isReadOnly, removals, onProblem });
  const isThere = (frame: StoredFrame): boolean => !isExpired(frame, now());
  await load();

  return {
    find(ref) {
      const frame = entries.entryOf(ref)?.current;
      return frame && isThere(frame) ? frame : undefined;
    },
    of(name) {
      const tenant = entries.tenantOf(name);
      tenant.sorted ??= [...tenant.entries.values()]
        .flatMap(({ current }) => current ?? [])
        .toSorted((a, b) => (a.handle < b.handle ? -1 : 1));
      return tenant.sorted.filter(isThere);
    },
    needed() {
      const all = entries.all();
      const frames = all.flatMap(({ current }) => current ?? []);
      const left = [...all.flatMap((entry) => [...entry.left]), ...frames.filter((frame) => !isThere(frame))];
      return { current: frames.filter(isThere), left: left.filter(({ readers }) => readers > 0) };
    },
    folderOf: (tenant) => entries.tenantOf(tenant).folder,
    change,
    async publish(ref, unfinishedPath, contents, expires) {
      const tenant = entries.tenantOf(ref.tenant);
      const key = ref.handle.toLowerCase();
      const entry = tenant.entries.get(key) ?? { current: undefined, floor: '', left: new Set(), tombstones: [] };
      const frame = frameOf(tenant, { handle: ref.handle, version: versions.next(entry.floor) });
      await tenant.folder.publish(unfinishedPath, frame, expires);
      frame.contents = contents;
      frame.fileBytes = contents.fileBytes;
      removals.setExpires(frame, expires);
      const replaced = entry.current;
      entry.current = frame;
      entry.floor = frame.version;
      tenant.entries.set(key, entry);
      tenant.sorted = undefined;
      if (replaced) removals.retire(entry, replaced);
      return frame;
    },
    drop: (frame) => removals.drop(frame),
    async setExpiry(frame, expires) {
      await entries.tenantOf(frame.tenant).folder.writeExpiry(frame, expires);
      removals.setExpires(frame, expires);
    },
    acquire(frame) {
      frame.readers += 1;
    },
    release: (frame) => removals.release(frame),
    removeExpired() {
      if (!isReadOnly) removals.removeExpired();
    },
    rescan: load,
    settle: () => removals.settle(),
  };
}
