import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { type FrameRef, type Handle, parseHandle, type StoreFault } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { onceAtATime, readSmallFile, unlinkIfThere } from '@svc/objects/internal';
import { schemaFromText, schemaText } from '../../types/stored-types.ts';
import { deltaColumns } from '../log/delta-schema.ts';
import { FRAME_CODEC, type FrameMove, type FrameState } from '../log/frame-entry.ts';
import { MAX_ENTRY_BYTES } from '../log/frame-log.ts';
import { checkTakenOver } from './directory-format.ts';
import { isFolder, listTenant } from './frame-folders.ts';
import { tenantOfFolder } from './frame-names.ts';
import {
  appendTo,
  createTenantSlots,
  endMove,
  entryFile,
  knownOf,
  leave,
  type NextPart,
  placeParts,
  readSlot,
  removeFolder,
  removeLog,
  type Slot,
  sizedPartsOf,
  slotOf,
  stateOf,
  storedParts,
  type TenantSlots,
  unfinishedEntries,
  UnknownChange,
  unneededParts,
} from './frame-slots.ts';
import { takeOver } from './format-1/take-over.ts';
import type { FrameVersions } from './frame-versions.ts';
import { type Changes, createChanges } from './keyed-queue.ts';
import {
  contentsOfParts,
  type FrameContents,
  isExpired,
  type ListedRows,
  newFrame,
  pathsOf,
  type StoredFrame,
} from './stored-frame.ts';
import type { StoreProblem } from './store-problem.ts';
import { forEachConcurrently, type TenantFolder } from './tenant-folder.ts';
import type { FrameFiles } from '../../files/frame-files.ts';
import type { KeptContents } from '../frame-contents.ts';
import { isFullDisk } from '../store-errors.ts';
import { MAX_FAULTS } from '../store-health.ts';

/** The frames of all tenants that were put, as the directory has them. Change frames only inside `change`. */
export interface Catalogue extends Changes {
  /** Finds a frame that has not expired by its handle, ignoring case. */
  find(ref: FrameRef): Promise<StoredFrame | undefined>;
  /** Finds the current version of the frame with exactly this handle, and keeps its files until it is released. */
  current(ref: FrameRef): Promise<StoredFrame | undefined>;
  /** Whether a version is the one that readers find now. */
  isCurrent(frame: StoredFrame): boolean;
  /** The frames of a tenant, sorted by handle. */
  of(tenant: string): Promise<readonly StoredFrame[]>;
  /** Reads what is not known yet of the frames of a tenant. */
  load(tenant: string): Promise<void>;
  /** The known frames of a tenant by their handles in lower case, in no order. */
  byKey(tenant: string): Iterable<readonly [key: string, frame: StoredFrame]>;
  /** The frame of the newest version of all. Undefined: there is none, or finding it takes long. */
  newest(): Promise<StoredFrame | undefined>;
  /** The file of the entry that makes a version. */
  fileOf(frame: StoredFrame): string;
  /** Reads the entry of a version again. A damaged one is `invalid_data`. */
  readRows(frame: StoredFrame): Promise<ListedRows>;
  /** All frames whose files are needed: the current ones, and old ones that still have readers. */
  needed(): Promise<{ readonly current: readonly StoredFrame[]; readonly left: readonly StoredFrame[] }>;
  folderOf(tenant: string): TenantFolder;
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
  /** The frames of format 1 that could not be taken over. */
  faults(): readonly StoreFault[];
  /** Resolves when all removals in progress are done. */
  settle(): Promise<void>;
}

/** Options of `createCatalogue`. */
export interface CatalogueOptions {
  readonly directory: string;
  readonly isReadOnly: boolean;
  readonly versions: FrameVersions;
  /** Describes the files of a directory of format 1. */
  readonly files: Pick<FrameFiles, 'describe'>;
  readonly now: () => number;
  readonly onProblem: (problem: StoreProblem) => void;
  /** Keeps the descriptions of new versions. */
  readonly kept: Pick<KeptContents, 'keep'>;
  /** Called with a frame that was removed because it has expired. */
  readonly onExpired: (frame: StoredFrame) => void;
  /** Called with a frame that was replaced, was dropped or has expired. */
  readonly onLeave: (frame: StoredFrame, replacement?: Replacement) => void;
}

/** A version to publish. */
export interface NextVersion {
  readonly version: string;
  /** In order. */
  readonly parts: readonly NextPart[];
  readonly contents: FrameContents;
  readonly expires: Date | null;
  /** The version has the same rows as the one it replaces. */
  readonly isSame?: true;
  /** Called when the version is the current one, before anything else can see it. */
  readonly onCurrent?: (() => void) | undefined;
}

/** The version that took the place of another. */
export interface Replacement {
  readonly successor?: StoredFrame;
  /** True if it has the same rows. */
  readonly isSame?: boolean;
}

/** The most frames whose logs are read to find the newest one. */
const FEW_FRAMES = 64;

/** The entries of a frame that stay. Their number doubles before the older ones are removed. */
const KEPT_ENTRIES = 32;

/** Opens the frames of a directory, each of which is the newest entry of its log. */
export async function createCatalogue(options: CatalogueOptions): Promise<Catalogue> {
  const catalogue = new LogCatalogue(options);
  await catalogue.rescan();
  return catalogue;
}

/** The frames as this process knows them. Logs are read on first use; a process that only reads asks them every time. */
class LogCatalogue implements Catalogue {
  readonly change: Catalogue['change'];
  readonly changeBoth: Catalogue['changeBoth'];
  readonly #options: CatalogueOptions;
  readonly #tenants = new Map<string, TenantSlots>();
  /** The numbers of the entries of versions. */
  readonly #numbers = new WeakMap<StoredFrame, number>();
  readonly #expiring = new Set<StoredFrame>();
  readonly #failed: StoreFault[] = [];
  /** Background work, which only `settle` awaits. */
  readonly #running = new Set<Promise<void>>();
  readonly #readOnce = onceAtATime((slot: Slot) => this.#read(slot));
  #isLoading = false;
  #isSettling = false;

  constructor(options: CatalogueOptions) {
    this.#options = options;
    const changes = createChanges();
    this.change = (ref, work) => changes.change(ref, work);
    this.changeBoth = (refs, work) => changes.changeBoth(refs, work);
  }

  /** Lists the folders of the frames. */
  async rescan(): Promise<void> {
    const { directory, isReadOnly, files, onProblem } = this.#options;
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      const name = tenantOfFolder(entry.name);
      if (name === undefined || !(await isFolder(entry, directory))) continue;
      const tenant = this.#tenantOf(name);
      const { keys, unfinished, isOld } = await listTenant(tenant.folder.path);
      if (isOld && isReadOnly) await checkTakenOver(directory);
      if (isOld && !isReadOnly) {
        this.#failed.push(...(await takeOver(tenant, { files, onProblem })));
        keys.push(...(await listTenant(tenant.folder.path)).keys);
      }
      const pause = createYield();
      for (const key of keys) {
        await pause();
        addSlot(slotOf(tenant, key));
      }
      if (!isReadOnly) await forEachConcurrently(unfinished, (path) => rm(path, { recursive: true, force: true }));
    }
  }

  async find(ref: FrameRef): Promise<StoredFrame | undefined> {
    const slot = this.#slotOf(ref);
    if (!slot.tenant.slots.has(slot.key)) {
      // It has no folder, unless another process has made it since.
      if (!this.#options.isReadOnly) return undefined;
      addSlot(slot);
    }
    await this.#know(slot);
    return this.#isThere(slot.current) ? slot.current : undefined;
  }

  async current(ref: FrameRef): Promise<StoredFrame | undefined> {
    const frame = await this.find(ref);
    if (frame?.handle !== ref.handle) return undefined;
    frame.readers += 1;
    return frame;
  }

  isCurrent(frame: StoredFrame): boolean {
    return this.#isThere(frame) && this.#slotOf(frame).current === frame;
  }

  async of(name: string): Promise<readonly StoredFrame[]> {
    const tenant = this.#tenantOf(name);
    await this.#loadTenant(tenant);
    tenant.sorted ??= currentOf(tenant).toSorted((a, b) => (a.handle < b.handle ? -1 : 1));
    return tenant.sorted.filter((frame) => this.#isThere(frame));
  }

  load(name: string): Promise<void> {
    return this.#loadTenant(this.#tenantOf(name));
  }

  *byKey(name: string): Iterable<readonly [key: string, frame: StoredFrame]> {
    for (const [key, { current }] of this.#tenantOf(name).slots) if (this.#isThere(current)) yield [key, current];
  }

  async newest(): Promise<StoredFrame | undefined> {
    const tenants = [...this.#tenants.values()];
    if (tenants.reduce((sum, { slots }) => sum + slots.size, 0) > FEW_FRAMES) return undefined;
    for (const tenant of tenants) await this.#loadTenant(tenant);
    const newer = (a: StoredFrame | undefined, b: StoredFrame): StoredFrame => (a && a.created > b.created ? a : b);
    return tenants.flatMap(currentOf).reduce(newer, undefined);
  }

  async needed(): Promise<Awaited<ReturnType<Catalogue['needed']>>> {
    const [current, left]: [StoredFrame[], StoredFrame[]] = [[], []];
    for (const tenant of this.#tenants.values()) {
      await this.#loadTenant(tenant);
      for (const frame of currentOf(tenant)) (this.#isThere(frame) ? current : left).push(frame);
      for (const slot of tenant.slots.values()) left.push(...slot.left);
    }
    return { current, left: left.filter(({ readers }) => readers > 0) };
  }

  fileOf(frame: StoredFrame): string {
    return entryFile(this.#slotOf(frame), this.#numbers.get(frame) ?? 0);
  }

  async readRows(frame: StoredFrame): Promise<ListedRows> {
    const text = await readSmallFile(this.fileOf(frame), MAX_ENTRY_BYTES);
    const { damage, rows } = FRAME_CODEC.decode(Buffer.from(text ?? '')).state;
    if (damage) throw damage;
    return { parts: sizedPartsOf(this.#slotOf(frame), rows?.parts ?? []), schema: rows?.schema ?? '' };
  }

  folderOf(tenant: string): TenantFolder {
    return this.#tenantOf(tenant).folder;
  }

  nextVersion(ref: FrameRef): string {
    return this.#options.versions.next(this.#slotOf(ref).known?.version ?? '');
  }

  async publish(ref: FrameRef, next: NextVersion): Promise<StoredFrame> {
    const slot = this.#slotOf(ref);
    const frame = await this.#write(slot, ref.handle, next);
    this.#makeCurrent(slot, frame, next);
    return frame;
  }

  async drop(frame: StoredFrame): Promise<void> {
    const slot = this.#slotOf(frame);
    if (slot.current !== frame) return;
    try {
      await leave(slot, this.#options.versions.next(frame.version));
    } catch (error) {
      // Without a byte for an entry, the folder can still be renamed, unless it is in use.
      if (!isFullDisk(error) || frame.readers > 0 || slot.left.size > 0 || slot.known?.from) throw error;
      await removeFolder(slot);
      slot.tenant.slots.delete(slot.key);
      slot.known = undefined;
    }
    this.#forget(slot, frame);
  }

  async rename(frame: StoredFrame, handle: Handle, next: NextVersion): Promise<StoredFrame> {
    const [source, target] = [this.#slotOf(frame), this.#slotOf({ tenant: frame.tenant, handle })];
    const id = randomUUID();
    await appendTo(source, (before) => before && { ...before, isSame: true, moving: { handle, id } });
    this.#noteEntry(source, frame);
    let renamed: StoredFrame;
    try {
      // This decides.
      renamed = await this.#write(target, handle, next, { handle: frame.handle, id });
    } catch (error) {
      if (error instanceof UnknownChange) source.known = undefined;
      throw error;
    }
    // Synchronously: a reader finds the frame under exactly one of the handles.
    this.#makeCurrent(target, renamed, next);
    this.#forget(source, frame, { successor: renamed, isSame: true });
    // If this fails, the next read of the log completes the move.
    const last = await endMove(source, id).catch(() => undefined);
    source.known = last && knownOf(last);
    return renamed;
  }

  async setExpiry(frame: StoredFrame, expires: Date | null): Promise<void> {
    const slot = this.#slotOf(frame);
    await appendTo(
      slot,
      (before) => before && { ...before, moving: undefined, from: undefined, isSame: true, expires },
    );
    this.#noteEntry(slot, frame);
    this.#setExpires(frame, expires);
    this.#trimLater(slot);
  }

  acquire(frame: StoredFrame): void {
    frame.readers += 1;
  }

  release(frame: StoredFrame): void {
    frame.readers -= 1;
    const slot = this.#slotOf(frame);
    if (frame.readers === 0 && slot.left.has(frame)) this.#begin(slot, () => this.#clean(slot));
  }

  removeExpired(): void {
    const { isReadOnly, now } = this.#options;
    if (isReadOnly) return;
    if (!this.#isLoading) this.#track(this.#loadSlowly());
    this.#isLoading = true;
    const time = now();
    const expired = [...this.#expiring].filter((frame) => isExpired(frame, time));
    // A second call does not start the drops again.
    for (const frame of expired) this.#expiring.delete(frame);
    const pause = createYield();
    const drop = async (frame: StoredFrame): Promise<void> => {
      await pause();
      await this.#inTurn(this.#slotOf(frame), () => this.#dropExpired(frame));
    };
    this.#track(forEachConcurrently(expired, drop));
  }

  faults(): readonly StoreFault[] {
    return this.#failed.slice(0, MAX_FAULTS);
  }

  async settle(): Promise<void> {
    this.#isSettling = true;
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #tenantOf(name: string): TenantSlots {
    const known = this.#tenants.get(name);
    if (known) return known;
    const tenant = createTenantSlots(this.#options.directory, name);
    this.#tenants.set(name, tenant);
    return tenant;
  }

  #slotOf({ tenant, handle }: FrameRef): Slot {
    return slotOf(this.#tenantOf(tenant), handle);
  }

  #isThere(frame: StoredFrame | undefined): frame is StoredFrame {
    return frame !== undefined && !isExpired(frame, this.#options.now());
  }

  /** Reads a log unless its newest entry is known: no other process changes it. */
  async #know(slot: Slot): Promise<void> {
    if (slot.failure) throw slot.failure;
    // One at a time: an earlier entry must not come after a later one.
    if (this.#options.isReadOnly) await this.change(refOf(slot), () => this.#read(slot));
    else if (slot.known === undefined) await this.#readOnce(slot);
  }

  /** Reads the newest entry of a slot, and makes its frame the current one. */
  async #read(slot: Slot): Promise<void> {
    const { isReadOnly } = this.#options;
    const newest = await readSlot(slot, isReadOnly);
    // With many columns, each of these steps takes milliseconds.
    await createYield()();
    const { known: before, current } = slot;
    const known = knownOf(newest);
    slot.isReported = false;
    if (before !== undefined && before.number === known.number && before.version === known.version) return;
    const frame = newest && this.#frameOf(slot, newest.state);
    // In one step: other requests take a known slot as it is.
    slot.known = known;
    slot.current = frame;
    slot.tenant.sorted = undefined;
    if (frame && newest) {
      this.#noteEntry(slot, frame);
      this.#setExpires(frame, newest.state.expires);
    }
    if (current && current !== frame) this.#retire(slot, current, frame && { successor: frame });
    if (isReadOnly || isDamaged(frame)) return;
    if (frame && !this.#isThere(frame)) this.#begin(slot, () => this.#dropExpired(frame));
    // Changes that an earlier process did not complete may have left parts.
    if (!slot.isSwept) slot.isSwept = unneededParts(slot, this.#needed(slot)).length === 0;
    if ((frame === undefined && newest !== undefined) || !slot.isSwept) this.#begin(slot, () => this.#clean(slot));
  }

  /** The frame of a state: the same one as before if only its expiry has changed. */
  #frameOf(slot: Slot, { rows, handle, version, damage }: FrameState): StoredFrame | undefined {
    if (damage) {
      const isKnown = handle.toLowerCase() === slot.key;
      return newFrame(slot.tenant.name, { handle: isKnown ? handle : refOf(slot).handle, version, parts: [] });
    }
    if (rows === undefined || slot.current?.version === version) return rows && slot.current;
    const parts = sizedPartsOf(slot, rows.parts);
    const contents = contentsOfParts(schemaFromText(rows.schema), parts);
    const frame = newFrame(slot.tenant.name, { handle, version, parts, contents });
    this.#options.kept.keep(frame, contents);
    return frame;
  }

  async #loadTenant({ slots, name }: TenantSlots): Promise<void> {
    const { isReadOnly, onProblem } = this.#options;
    const unknown = [...slots.values()].filter(({ known }) => isReadOnly || known === undefined);
    // Reading a short log does not wait for the event loop.
    const pause = createYield();
    await forEachConcurrently(unknown, async (slot) => {
      await pause();
      // A frame that cannot be read must not hide the others.
      await this.#know(slot).catch((cause: unknown) => {
        if (!slot.isReported) onProblem({ kind: 'unreadable_frame', tenant: name, handle: slot.key, cause });
        slot.isReported = true;
      });
    });
  }

  /** Reads all logs, one after the other: only then is it known which frames have expired. */
  async #loadSlowly(): Promise<void> {
    for (const { slots } of this.#tenants.values()) {
      for (const slot of slots.values()) {
        await setImmediate();
        if (this.#isSettling) return;
        // A request for the frame gets the error.
        await this.#know(slot).catch(() => {});
      }
    }
  }

  #noteEntry({ known }: Slot, frame: StoredFrame): void {
    if (known?.number !== undefined) this.#numbers.set(frame, known.number);
  }

  #setExpires(frame: StoredFrame, expires: Date | null): void {
    frame.expires = expires;
    if (expires === null) this.#expiring.delete(frame);
    else this.#expiring.add(frame);
  }

  /** Starts background work on a slot. */
  #begin(slot: Slot, work: () => Promise<void>): void {
    this.#track(this.#inTurn(slot, work));
  }

  async #inTurn(slot: Slot, work: () => Promise<void>): Promise<void> {
    const ref = refOf(slot);
    await this.change(ref, work).catch((cause: unknown) => {
      this.#options.onProblem({ kind: 'not_removed', ...ref, cause });
    });
  }

  #track(work: Promise<void>): void {
    const done = work.finally(() => this.#running.delete(done));
    this.#running.add(done);
  }

  /** Makes a version durable. */
  async #write(slot: Slot, handle: Handle, next: NextVersion, from?: FrameMove): Promise<StoredFrame> {
    const { version, expires, isSame, contents } = next;
    await this.#know(slot);
    // If its outcome is not known, the next read of the handle finds it.
    addSlot(slot);
    const pause = createYield();
    try {
      const parts = await placeParts(slot, version, next.parts);
      const rows = { schema: schemaText(contents.schema), parts: storedParts(parts) };
      await pause();
      const columns = await deltaColumns(contents.schema);
      const state = { handle, version, rows, columns, expires, ...(isSame && { isSame }), ...(from && { from }) };
      await pause();
      await appendTo(slot, (before) => stateOf(before, state));
      const staged = next.parts.flatMap((part) => ('path' in part || part.isKept === true ? [] : part.from));
      await Promise.allSettled(staged.map(unlinkIfThere));
      this.#trimLater(slot);
      return newFrame(slot.tenant.name, { handle, version, parts, contents });
    } catch (error) {
      slot.isSwept = false;
      this.#begin(slot, () => this.#clean(slot));
      throw error;
    }
  }

  /** Removes old entries of a log when there are twice as many as stay. */
  #trimLater(slot: Slot): void {
    const { number = 0 } = slot.known ?? {};
    if (number + 1 - slot.trimmed < 2 * KEPT_ENTRIES) return;
    slot.trimmed = number + 1 - KEPT_ENTRIES;
    this.#begin(slot, () => slot.log().trim(KEPT_ENTRIES));
  }

  /** Makes a version of a slot the one that readers find. */
  #makeCurrent(slot: Slot, frame: StoredFrame, { expires, onCurrent, isSame, contents }: NextVersion): void {
    const replaced = slot.current;
    addSlot(slot);
    this.#noteEntry(slot, frame);
    this.#setExpires(frame, expires);
    slot.current = frame;
    onCurrent?.();
    this.#options.kept.keep(frame, contents);
    if (replaced) this.#retire(slot, replaced, { successor: frame, isSame: isSame === true });
  }

  async #dropExpired(frame: StoredFrame): Promise<void> {
    const { onExpired } = this.#options;
    if (this.#slotOf(frame).current !== frame) return;
    // Keep it in the set, in case its expiry was extended or the drop fails.
    this.#expiring.add(frame);
    if (!this.#isThere(frame)) await this.drop(frame).then(() => onExpired(frame));
  }

  #forget(slot: Slot, frame: StoredFrame, replacement?: Replacement): void {
    slot.current = undefined;
    slot.tenant.sorted = undefined;
    this.#retire(slot, frame, replacement);
  }

  #retire(slot: Slot, frame: StoredFrame, replacement?: Replacement): void {
    const { isReadOnly, onLeave } = this.#options;
    this.#expiring.delete(frame);
    onLeave(frame, replacement);
    if (isReadOnly) return;
    slot.left.add(frame);
    if (frame.readers === 0) this.#begin(slot, () => this.#clean(slot));
  }

  /** The files of the current version and of old ones with readers. */
  #needed({ current, left }: Slot): ReadonlySet<string> {
    const pinned = [...left].filter(({ readers }) => readers > 0);
    return new Set([...(current ? [current] : []), ...pinned].flatMap(pathsOf));
  }

  /** Removes the files of old versions without readers, and parts that no version has. */
  async #clean(slot: Slot): Promise<void> {
    // It is not known which files are needed.
    if (slot.known === undefined || isDamaged(slot.current)) return;
    const free = [...slot.left].filter(({ readers }) => readers === 0);
    const needed = this.#needed(slot);
    const unused = slot.isSwept
      ? free.flatMap(pathsOf).filter((path) => !needed.has(path))
      : [...unneededParts(slot, needed), ...unfinishedEntries(slot)];
    await forEachConcurrently([...new Set(unused)], unlinkIfThere);
    slot.isSwept = true;
    for (const frame of free) slot.left.delete(frame);
    if (slot.current !== undefined || slot.left.size > 0) return;
    await removeLog(slot);
    slot.tenant.slots.delete(slot.key);
    slot.known = undefined;
  }
}

function addSlot(slot: Slot): void {
  slot.tenant.slots.set(slot.key, slot);
  slot.tenant.sorted = undefined;
}

/** True for a frame whose entry cannot be read. */
function isDamaged(frame: StoredFrame | undefined): boolean {
  return frame !== undefined && frame.fileBytes === undefined;
}

/** A key is a handle, too. */
function refOf({ tenant, key }: Slot): FrameRef {
  return { tenant: tenant.name, handle: parseHandle(key) };
}

function currentOf({ slots }: TenantSlots): StoredFrame[] {
  return [...slots.values()].flatMap(({ current }) => current ?? []);
}
