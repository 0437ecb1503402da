import type { FrameRef, Handle } from '@svc/frames';
import { createCatalogueEntries, type Tenant } from './catalogue-entries.ts';
import type { Manifest } from './manifest.ts';
import type { StoreProblem } from './store-problem.ts';
import { createFrameRemovals, type FrameRemovals, type Replacement } from './frame-removals.ts';
import type { FrameVersions } from './frame-versions.ts';
import { createKeyedQueue } from './keyed-queue.ts';
import { loadCatalogue } from './load-catalogue.ts';
import { moveParts, type NextVersion, publishParts } from './publish-version.ts';
import type { KeptContents } from '../frame-contents.ts';
import { isExpired, type StoredFrame } from './stored-frame.ts';
import type { TenantFolder } from './tenant-folder.ts';

/** The frames of all tenants that were put, as the directory has them. */
export interface Catalogue {
  /** Finds a frame that has not expired by its handle, ignoring case. */
  find(ref: FrameRef): StoredFrame | undefined;
  /** Finds the current version of the frame with exactly this handle, and keeps its files until it is released. */
  current(ref: FrameRef): Promise<StoredFrame | undefined>;
  /** The frames of a tenant, sorted by handle. */
  of(tenant: string): readonly StoredFrame[];
  /** The frames of a tenant by their handles in lower case, in no order. */
  byKey(tenant: string): Iterable<readonly [key: string, frame: StoredFrame]>;
  /** Reads the manifest of a version again. */
  readManifest(frame: StoredFrame): Promise<Manifest>;
  /** All frames whose files are needed: the current ones, and old ones that still have readers. */
  needed(): { readonly current: readonly StoredFrame[]; readonly left: readonly StoredFrame[] };
  folderOf(tenant: string): TenantFolder;
  /** Runs changes of one handle one at a time. Call the five methods below only inside. */
  change<T>(ref: FrameRef, work: () => Promise<T>): Promise<T>;
  /** Runs a change of two handles of a tenant while nothing else changes either. */
  changeBoth<T>(refs: readonly [FrameRef, FrameRef], work: () => Promise<T>): Promise<T>;
  /** Returns a version that is greater than all others of the handle. */
  nextVersion(ref: FrameRef): string;
  publish(ref: FrameRef, next: NextVersion): Promise<StoredFrame>;
  drop(frame: StoredFrame): Promise<void>;
  /**
   * Publishes the rows of a frame under another handle, which must be free, and drops the frame, in one step. Call it only
   * inside `changeBoth`.
   */
  rename(frame: StoredFrame, handle: Handle, next: NextVersion): Promise<StoredFrame>;
  setExpiry(frame: StoredFrame, expires: Date | null): Promise<void>;
  /** Keeps the files of a frame until it is released. */
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
  /** Keeps the descriptions of new versions. */
  readonly kept: Pick<KeptContents, 'keep'>;
  /** Called with a frame that was removed because it has expired. */
  readonly onExpired: (frame: StoredFrame) => void;
  /** Called with a frame that was replaced, was dropped or has expired. */
  readonly onLeave: (frame: StoredFrame, replacement?: Replacement) => void;
}

/** Loads the catalogue of a directory. */
export async function createCatalogue(options: CatalogueOptions): Promise<Catalogue> {
  const { directory, isReadOnly, versions, now, kept, onProblem, onExpired, onLeave } = options;
  const entries = createCatalogueEntries(directory);
  const { change, changeBoth } = createChanges();
  const removals = createFrameRemovals({ entries, change, now, onProblem, onExpired, onLeave });
  const load = (): Promise<void> => loadCatalogue({ directory, entries, isReadOnly, removals, onProblem });
  const isThereAt = (time: number) => (frame: StoredFrame) => !isExpired(frame, time);
  await load();

  function find(ref: FrameRef): StoredFrame | undefined {
    const frame = entries.entryOf(ref)?.current;
    return frame && isThereAt(now())(frame) ? frame : undefined;
  }

  return {
    find,
    async current(ref) {
      if (isReadOnly) await load();
      const frame = find(ref);
      if (frame?.handle !== ref.handle) return undefined;
      frame.readers += 1;
      return frame;
    },
    readManifest: (frame) => entries.tenantOf(frame.tenant).folder.readManifest(frame),
    of(name) {
      const tenant = entries.tenantOf(name);
      tenant.sorted ??= [...tenant.entries.values()]
        .flatMap(({ current }) => current ?? [])
        .toSorted((a, b) => (a.handle < b.handle ? -1 : 1));
      return tenant.sorted.filter(isThereAt(now()));
    },
    byKey: (name) => presentFrames(entries.tenantOf(name), isThereAt(now())),
    needed() {
      const isThere = isThereAt(now());
      const [current, left]: [StoredFrame[], StoredFrame[]] = [[], []];
      for (const entry of entries.all()) {
        if (entry.current) (isThere(entry.current) ? current : left).push(entry.current);
        left.push(...entry.left);
      }
      return { current, left: left.filter(({ readers }) => readers > 0) };
    },
    folderOf: (tenant) => entries.tenantOf(tenant).folder,
    change,
    changeBoth,
    nextVersion: (ref) => versions.next(entries.entryOf(ref)?.floor ?? ''),
    async publish(ref, next) {
      const tenant = entries.tenantOf(ref.tenant);
      const frame = await publishParts(tenant, ref.handle, next);
      makeCurrent(tenant, frame, next, removals);
      kept.keep(frame, next.contents);
      return frame;
    },
    drop: (frame) => removals.drop(frame),
    async rename(frame, handle, next) {
      const tenant = entries.tenantOf(frame.tenant);
      const renamed = await moveParts(tenant, frame, handle, next);
      // Synchronously: a reader finds the frame under exactly one of the handles.
      makeCurrent(tenant, renamed, next, removals);
      removals.retireDropped(frame, { successor: renamed, isSame: true });
      kept.keep(renamed, next.contents);
      return renamed;
    },
    async setExpiry(frame, expires) {
      await replaceExpiry(entries.tenantOf(frame.tenant), frame, expires);
      removals.setExpires(frame, expires);
    },
    acquire(frame) {
      frame.readers += 1;
    },
    release: (frame) => removals.release(frame),
    removeExpired: () => (isReadOnly ? undefined : removals.removeExpired()),
    rescan: load,
    settle: () => removals.settle(),
  };
}

/** Makes a published version the one that readers find. */
function makeCurrent(
  tenant: Tenant,
  frame: StoredFrame,
  { expires, onCurrent, isSame }: NextVersion,
  removals: FrameRemovals,
): void {
  const key = frame.handle.toLowerCase();
  const entry = tenant.entries.get(key) ?? { current: undefined, floor: '', left: new Set(), tombstones: [] };
  removals.setExpires(frame, expires);
  const replaced = entry.current;
  entry.current = frame;
  entry.floor = frame.version;
  tenant.entries.set(key, entry);
  tenant.sorted = undefined;
  onCurrent?.();
  if (replaced) removals.retire(entry, replaced, { successor: frame, isSame: isSame === true });
}

/** Creates the queues of changes, one for each handle. */
function createChanges(): Pick<Catalogue, 'change' | 'changeBoth'> {
  const queue = createKeyedQueue();
  const change: Catalogue['change'] = ({ tenant, handle }, work) =>
    queue.run(`${tenant}\0${handle.toLowerCase()}`, work);
  return {
    change,
    changeBoth([one, other], work) {
      const [a, b] = [one.handle.toLowerCase(), other.handle.toLowerCase()];
      if (a === b) return change(one, work);
      // Always in the same order: two renames must not wait for each other.
      const [first, second] = a < b ? [one, other] : [other, one];
      return change(first, () => change(second, work));
    },
  };
}

function* presentFrames(
  { entries }: Tenant,
  isThere: (frame: StoredFrame) => boolean,
): Iterable<readonly [key: string, frame: StoredFrame]> {
  for (const [key, { current }] of entries) if (current && isThere(current)) yield [key, current];
}

/** Writes another expiry of a frame. A failure leaves the one before. */
async function replaceExpiry({ folder }: Tenant, frame: StoredFrame, expires: Date | null): Promise<void> {
  try {
    await folder.writeExpiry(frame, expires);
  } catch (error) {
    // The file may have been replaced although the directory could not be flushed.
    await folder.writeExpiry(frame, frame.expires).catch(() => {});
    throw error;
  }
}
