import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { ServiceError } from '@svc/errors';
import { type FrameRef, type Handle, parseHandle } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { onceAtATime, unlinkIfThere } from '@svc/objects/internal';
import { schemaFromText } from '../../types/stored-types.ts';
import { isCheckpointDue, trimLog } from '../log/checkpoint.ts';
import type { FrameMove, FrameState } from '../log/frame-entry.ts';
import { listSlots } from './list-slots.ts';
import {
  addSlot,
  appendTo,
  ChangedByOthers,
  checkFolder,
  createTenantSlots,
  currentOf,
  endMove,
  entryFile,
  isDamaged,
  isEmpty,
  isListed,
  isTaken,
  knownOf,
  listedParts,
  logOf,
  type PlacedPart,
  placeVersion,
  readSlot,
  readVersion,
  refOf,
  removeFolder,
  removeLog,
  removeParts,
  removeSlot,
  sameState,
  type Slot,
  slotOf,
  stateOf,
  type TenantSlots,
  UnknownChange,
  unneededFiles,
  withoutRows,
} from './frame-slots.ts';
import type { FrameVersions } from './frame-versions.ts';
import { BackgroundChanges, type Changes, createChanges } from './changes.ts';
import { Pins } from './pins.ts';
import {
  contentsOfParts,
  isExpired,
  type FrameUse,
  type ListedRows,
  newFrame,
  type NextVersion,
  partsOf,
  pathsOf,
  type Replacement,
  type StoredFrame,
} from './stored-frame.ts';
import type { StoreProblem } from './store-problem.ts';
import { createOwnFolder, forEachConcurrently, type TenantFolder } from './tenant-folder.ts';
import type { LaterDirectory } from '../../disk/private-directory.ts';
import type { FrameFiles } from '../../files/frame-files.ts';
import type { KeptContents } from '../frame-contents.ts';
import { isFullDisk } from '../store-errors.ts';

/** Options of `Catalogue`. */
export interface CatalogueOptions {
  readonly directory: string;
  /** The private directory of this process. */
  readonly own: LaterDirectory;
  readonly isReadOnly: boolean;
  readonly versions: FrameVersions;
  /** Describes the files of a directory of format 1, and writes checkpoints. */
  readonly files: Pick<FrameFiles, 'describe' | 'write'>;
  readonly now: () => number;
  /** Fails if another process has taken over the directory. */
  readonly checkLock: () => Promise<void>;
  readonly onProblem: (problem: StoreProblem) => void;
  /** Keeps the descriptions of new versions. */
  readonly kept: Pick<KeptContents, 'keep'>;
  /** Called with a frame that was removed because it has expired. */
  readonly onExpired: (frame: StoredFrame) => void;
  /** Called with a frame that was replaced, was dropped or has expired. */
  readonly onLeave: (frame: StoredFrame, replacement?: Replacement) => void;
}

/** The most frames whose logs are read to find the newest one. */
const FEW_FRAMES = 64;

/**
 * The frames of all tenants that were put. Logs are read on first use; a process that only reads asks them for news every
 * time. Call `rescan` first, and change frames only inside `change`.
 */
export class Catalogue implements Changes {
  readonly change: Changes['change'];
  readonly changeBoth: Changes['changeBoth'];
  readonly #options: CatalogueOptions;
  readonly #tenants = new Map<string, TenantSlots>();
  /** The numbers of the entries of versions. */
  readonly #numbers = new WeakMap<StoredFrame, number>();
  readonly pins: Pins;
  readonly #expiring = new Set<StoredFrame>();
  readonly background: BackgroundChanges;
  readonly #trimOnce = onceAtATime((slot: Slot) =>
    trimLog(slot, { ...this.#options, inTurn: (work) => this.background.run(refOf(slot), work) }),
  );
  #isLoading = false;

  constructor(options: CatalogueOptions) {
    this.#options = options;
    this.pins = new Pins(options.own, (tenant) => this.folderOf(tenant), options.now);
    ({ change: this.change, changeBoth: this.changeBoth } = createChanges((refs, work) => this.#attempt(refs, work)));
    this.background = new BackgroundChanges(this, options.onProblem);
  }

  /** Lists the folders of the frames. */
  rescan(): Promise<void> {
    return listSlots((name) => this.#tenantOf(name), this.#options);
  }

  /** Finds a frame that has not expired by its handle, ignoring case. */
  async find(ref: FrameRef): Promise<StoredFrame | undefined> {
    const slot = this.#slotOf(ref);
    // It has no folder, unless another process has made it since.
    if (!isListed(slot) && !this.#options.isReadOnly) return undefined;
    await this.#know(slot);
    if (slot.current && !isListed(slot)) {
      if (slot.tenant.slots.has(slot.key)) return this.find(ref);
      addSlot(slot);
    }
    return this.#isThere(slot.current) ? slot.current : undefined;
  }

  /** Finds the current version of the frame with exactly this handle, and counts a reader until it is released. */
  async current(ref: FrameRef, use: FrameUse = 'rows'): Promise<StoredFrame | undefined> {
    for (let last: StoredFrame | undefined; ;) {
      const frame = await this.find(ref);
      if (frame?.handle !== ref.handle) return undefined;
      // A version that is still the current one after a part of it was not found has lost that part.
      if ((await this.acquire(frame, use)) || frame === last) return frame;
      this.release(frame);
      last = frame;
    }
  }

  /** Whether a version is the one that readers find now. */
  isCurrent(frame: StoredFrame): boolean {
    return this.#isThere(frame) && this.#slotOf(frame).current === frame;
  }

  /** The frames of a tenant, sorted by handle. */
  async of(name: string): Promise<readonly StoredFrame[]> {
    const tenant = this.#tenantOf(name);
    await this.#loadTenant(tenant);
    tenant.sorted ??= currentOf(tenant).toSorted((a, b) => (a.handle < b.handle ? -1 : 1));
    return tenant.sorted.filter((frame) => this.#isThere(frame));
  }

  /** Reads the unread logs of a tenant. */
  load(name: string): Promise<void> {
    return this.#loadTenant(this.#tenantOf(name));
  }

  /** The known frames of a tenant by their handles in lower case, in no order. */
  *byKey(name: string): Iterable<readonly [key: string, frame: StoredFrame]> {
    for (const [key, { current }] of this.#tenantOf(name).slots) if (this.#isThere(current)) yield [key, current];
  }

  /** The frame of the newest version of all. Undefined: there is none, or finding it takes long. */
  async newest(): Promise<StoredFrame | undefined> {
    const tenants = [...this.#tenants.values()];
    if (tenants.reduce((sum, { slots }) => sum + slots.size, 0) > FEW_FRAMES) return undefined;
    for (const tenant of tenants) await this.#loadTenant(tenant);
    const newer = (a: StoredFrame | undefined, b: StoredFrame): StoredFrame => (a && a.created > b.created ? a : b);
    return tenants.flatMap(currentOf).reduce(newer, undefined);
  }

  /** The frames of all tenants, in no order. */
  async all(): Promise<readonly StoredFrame[]> {
    const tenants = [...this.#tenants.values()];
    for (const tenant of tenants) await this.#loadTenant(tenant);
    return tenants.flatMap(currentOf).filter((frame) => this.#isThere(frame));
  }

  /** The file of the entry that makes a version. */
  fileOf(frame: StoredFrame): string {
    return entryFile(this.#slotOf(frame), this.#numbers.get(frame) ?? 0);
  }

  /** Reads the entry of a version again. A damaged one is `invalid_data`. */
  readRows(frame: StoredFrame): Promise<ListedRows> {
    return readVersion(this.#slotOf(frame), this.fileOf(frame), frame);
  }

  /** The folder with the frames of a tenant. */
  pathOf(tenant: string): string {
    return this.#tenantOf(tenant).path;
  }

  /** Where new files of a tenant begin. */
  folderOf(tenant: string): TenantFolder {
    return this.#tenantOf(tenant).own;
  }

  /** Returns a version that is greater than all others of the handle. */
  nextVersion(ref: FrameRef): string {
    return this.#options.versions.next(this.#slotOf(ref).known?.version ?? '');
  }

  async publish(ref: FrameRef, next: NextVersion): Promise<StoredFrame> {
    const slot = this.#slotOf(ref);
    return this.#write(slot, ref.handle, next, undefined, (frame) => this.#makeCurrent(slot, frame, next));
  }

  async drop(frame: StoredFrame): Promise<void> {
    const slot = this.#slotOf(frame);
    if (slot.current !== frame) throw new ChangedByOthers();
    const version = this.#options.versions.next(frame.version);
    const { from } = slot.known ?? {};
    try {
      await this.#append(
        slot,
        (before) => before && withoutRows(before, version),
        () => this.#forget(slot, frame),
      );
    } catch (error) {
      // Without a byte for an entry, the folder can still be renamed, unless it is in use.
      const isInUse = frame.readers > 0 && frame.pinned === undefined;
      if (!isFullDisk(error) || isInUse || from) throw error;
      await removeFolder(slot);
      removeSlot(slot);
      this.#forget(slot, frame);
    }
  }

  /**
   * Publishes the rows of a frame under another handle, which must be free, and drops the frame, in one step. Call it only
   * inside `changeBoth`.
   */
  async rename(frame: StoredFrame, handle: Handle, next: NextVersion): Promise<StoredFrame> {
    const [source, target] = [this.#slotOf(frame), this.#slotOf({ tenant: frame.tenant, handle })];
    const id = randomUUID();
    await this.#append(
      source,
      (before) => before && { ...before, from: undefined, isSame: true, moving: { handle, id } },
      () => this.#noteEntry(source, frame),
    );
    let renamed: StoredFrame;
    try {
      // This decides.
      renamed = await this.#write(target, handle, next, { handle: frame.handle, id }, (moved) => {
        // In the same step: a reader finds the frame under exactly one of the handles.
        this.#makeCurrent(target, moved, next);
        this.#forget(source, frame, { successor: moved, isSame: true });
      });
    } finally {
      source.known = undefined;
    }
    // If this fails, the next read of the log completes the move.
    await endMove(source, id).catch(() => {});
    return renamed;
  }

  async setExpiry(frame: StoredFrame, expires: Date | null): Promise<void> {
    const slot = this.#slotOf(frame);
    await this.#append(
      slot,
      (before) => before && { ...before, moving: undefined, from: undefined, isSame: true, expires },
      () => {
        this.#noteEntry(slot, frame);
        this.#setExpires(frame, expires);
      },
    );
  }

  /** Counts a reader of a frame, and keeps its rows until it is released. False: a part is missing. */
  async acquire(frame: StoredFrame, use: FrameUse = 'rows'): Promise<boolean> {
    frame.readers += 1;
    return use === 'description' || this.#options.isReadOnly || this.pins.add(frame);
  }

  release(frame: StoredFrame): void {
    frame.readers -= 1;
    this.pins.released(frame);
  }

  /** Starts to remove expired frames. */
  removeExpired(): void {
    const { isReadOnly, now } = this.#options;
    this.background.track(this.pins.sweep());
    if (isReadOnly) return;
    if (!this.#isLoading) this.background.track(this.#loadSlowly());
    this.#isLoading = true;
    const time = now();
    const expired = [...this.#expiring].filter((frame) => isExpired(frame, time));
    // A second call does not start the drops again.
    for (const frame of expired) this.#expiring.delete(frame);
    const pause = createYield();
    const drop = async (frame: StoredFrame): Promise<void> => {
      await pause();
      await this.background.run(frame, () => this.#dropExpired(frame));
    };
    this.background.track(forEachConcurrently(expired, drop));
  }

  /** The frames of format 1 that could not be taken over. */
  notTakenOver(): readonly (FrameRef & { readonly failure: ServiceError })[] {
    return [...this.#tenants.values()].flatMap(({ name, notTakenOver }) =>
      [...notTakenOver].map(([key, failure]) => ({ tenant: name, handle: parseHandle(key), failure })),
    );
  }

  #tenantOf(name: string): TenantSlots {
    const known = this.#tenants.get(name);
    if (known) return known;
    const { directory, own } = this.#options;
    const tenant = createTenantSlots(directory, name, createOwnFolder(own, name));
    this.#tenants.set(name, tenant);
    return tenant;
  }

  #slotOf({ tenant, handle }: FrameRef): Slot {
    return slotOf(this.#tenantOf(tenant), handle);
  }

  #isThere(frame: StoredFrame | undefined): frame is StoredFrame {
    return frame !== undefined && !isExpired(frame, this.#options.now());
  }

  /** Runs a change on the newest state of the frames. */
  async #attempt<T>(refs: readonly FrameRef[], work: () => Promise<T>): Promise<T> {
    const slots = refs.map((ref) => this.#slotOf(ref));
    try {
      for (const slot of slots) await this.#prepare(slot);
      return await work();
    } finally {
      for (const slot of slots) if (isEmpty(slot)) removeSlot(slot);
    }
  }

  /** Finds out what a change of a slot builds on. */
  async #prepare(slot: Slot): Promise<void> {
    if (!isListed(slot)) slot.tenant.slots.set(slot.key, slot);
    if (slot.known === undefined && isTaken(slot)) slot.known = knownOf(undefined);
    await this.#know(slot);
    const { tenant, known } = slot;
    // The next entry does not say where the frame came from: the log of the other handle must say before that it has left.
    // Reading that completes the move.
    if (known?.from) await this.#know(slotOf(tenant, known.from.handle));
  }

  /**
   * Finds out what the newest entry of a log says. The process that holds the directory asks again only after a change of its
   * own has met one of another process.
   */
  async #know(slot: Slot): Promise<void> {
    const failure = slot.tenant.notTakenOver.get(slot.key);
    if (failure) throw failure;
    for (;;) {
      const { known } = slot;
      if (known !== undefined && !this.#options.isReadOnly) return;
      // The log of the other handle says if a frame on its way has arrived.
      const isSame = known?.seen && !known.moving && (await logOf(slot).isAt(known.seen));
      if (isSame && slot.known === known) return;
      if (slot.reading === undefined) {
        const reading = this.#read(slot).finally(() => (slot.reading = undefined));
        slot.reading = reading.catch(() => {});
        return reading;
      }
      // It began before this call, so it may have missed a change.
      await slot.reading;
    }
  }

  /** Reads the newest entry of a slot, and makes its frame the current one. */
  async #read(slot: Slot): Promise<void> {
    const { isReadOnly } = this.#options;
    const { known: before, current } = slot;
    const newest = await readSlot(slot, isReadOnly);
    // With many columns, each of these steps takes milliseconds.
    await createYield()();
    const known = knownOf(newest);
    slot.isReported = false;
    const frame = newest && this.#frameOf(slot, newest.state);
    // In one step: other requests take a known slot as it is.
    slot.known = known;
    slot.current = frame;
    slot.tenant.sorted = undefined;
    if (frame && newest) {
      this.#noteEntry(slot, frame);
      this.#setExpires(frame, newest.state.expires);
    }
    if (current && current !== frame) {
      const isSame = newest?.number === (before?.seen?.number ?? -1) + 1 && newest.state.isSame === true;
      this.#retire(current, frame && { successor: frame, isSame });
    }
    if (isReadOnly || isDamaged(frame)) return;
    // If that fails, it is not begun again here: the next removal of expired frames tries it.
    if (frame && frame !== current && !this.#isThere(frame)) {
      this.background.begin(refOf(slot), () => this.#dropExpired(frame));
    } else if (frame) this.#trimLater(slot);
    // Changes that an earlier process did not complete may have left parts.
    if (!slot.isSwept) slot.isSwept = unneededFiles(slot).length === 0;
    // It may also have died before there was a log, or after it.
    const isLeft = frame === undefined && existsSync(slot.path);
    if (isLeft || !slot.isSwept) this.#cleanLater(slot);
  }

  /** The frame of a state: the same one as before if only its expiry has changed. */
  #frameOf(slot: Slot, { rows, handle, version, damage }: FrameState): StoredFrame | undefined {
    if (damage) {
      const isKnown = handle.toLowerCase() === slot.key;
      return newFrame(slot.tenant.name, { handle: isKnown ? handle : refOf(slot).handle, version, parts: [] });
    }
    if (rows === undefined || slot.current?.version === version) return rows && slot.current;
    const parts = listedParts(slot, rows.parts);
    const contents = contentsOfParts(schemaFromText(rows.schema), parts);
    const frame = newFrame(slot.tenant.name, { handle, version, parts, contents });
    this.#options.kept.keep(frame, contents);
    return frame;
  }

  async #loadTenant({ slots, name, notTakenOver }: TenantSlots): Promise<void> {
    const { isReadOnly, onProblem } = this.#options;
    const unknown = [...slots.values()].filter(({ known }) => isReadOnly || known === undefined);
    // Reading a short log does not wait for the event loop.
    const pause = createYield();
    await forEachConcurrently(unknown, async (slot) => {
      await pause();
      if (!isListed(slot) || notTakenOver.has(slot.key)) return;
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
        if (this.background.isSettling) return;
        if (!isListed(slot)) continue;
        // A request for the frame gets the error.
        await this.#know(slot).catch(() => {});
      }
    }
  }

  #noteEntry({ known }: Slot, frame: StoredFrame): void {
    if (known?.seen) this.#numbers.set(frame, known.seen.number);
  }

  #setExpires(frame: StoredFrame, expires: Date | null): void {
    frame.expires = expires;
    if (expires === null) this.#expiring.delete(frame);
    else this.#expiring.add(frame);
  }

  /** Starts to remove the files that a slot does not need. */
  #cleanLater(slot: Slot): void {
    this.background.beginOnce(slot.path, refOf(slot), () => this.#clean(this.#slotOf(refOf(slot))));
  }

  /** Removes old entries of a log, and writes a checkpoint before, whenever there are many new ones. */
  #trimLater(slot: Slot): void {
    if (isCheckpointDue(slot)) this.background.track(this.#trimOnce(slot));
  }

  /** Makes the next state of a slot durable. `take` makes it the one that readers find, in the same step. */
  async #append(
    slot: Slot,
    next: (now: FrameState | undefined) => FrameState | undefined,
    take: () => void,
    placed: readonly PlacedPart[] = [],
  ): Promise<void> {
    const entry = await appendTo(slot, next, placed).catch(async (error: unknown) => {
      // It may have succeeded. The next read finds out, and also which parts are needed.
      slot.known = undefined;
      if (error instanceof UnknownChange) slot.isSwept = false;
      else await removeParts(slot, placed, this.#options.onProblem);
      throw error;
    });
    slot.known = knownOf(entry);
    take();
    this.#trimLater(slot);
  }

  /** Makes a version durable. */
  async #write(
    slot: Slot,
    handle: Handle,
    next: NextVersion,
    from: FrameMove | undefined,
    take: (frame: StoredFrame) => void,
  ): Promise<StoredFrame> {
    checkFolder(slot);
    const { frame, state, placed } = await placeVersion(slot, handle, next, this.#options.onProblem);
    await this.#append(
      slot,
      (before) => stateOf(before, { ...state, ...(from && { from }) }),
      () => take(frame),
      placed,
    );
    const staged = next.parts.flatMap((part) => ('path' in part || part.isKept === true ? [] : part.from));
    await Promise.allSettled(staged.map(unlinkIfThere));
    return frame;
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
    if (replaced) this.#replace(slot, replaced, { successor: frame, isSame: isSame === true });
  }

  async #dropExpired(frame: StoredFrame): Promise<void> {
    const { onExpired } = this.#options;
    const slot = this.#slotOf(frame);
    await this.#know(slot);
    if (slot.current !== frame) return;
    // Keep it in the set, in case its expiry was extended or the drop fails.
    this.#expiring.add(frame);
    if (!this.#isThere(frame)) await this.drop(frame).then(() => onExpired(frame));
  }

  #forget(slot: Slot, frame: StoredFrame, replacement?: Replacement): void {
    slot.current = undefined;
    slot.tenant.sorted = undefined;
    this.#replace(slot, frame, replacement);
  }

  #retire(frame: StoredFrame, replacement?: Replacement): void {
    this.#expiring.delete(frame);
    this.#options.onLeave(frame, replacement);
    this.pins.retire(frame, replacement?.successor);
  }

  /** Removes the parts of a version that a change of this process has replaced or dropped, and then the log of a dropped one. */
  #replace(slot: Slot, replaced: StoredFrame, replacement?: Replacement): void {
    this.#retire(replaced, replacement);
    const kept = new Set(slot.current ? pathsOf(slot.current) : []);
    const parts = partsOf(replaced).filter(({ path }) => !kept.has(path));
    const remove = async (): Promise<void> => {
      await removeParts(slot, parts, this.#options.onProblem);
      if (slot.current === undefined) this.#cleanLater(slot);
    };
    // Later, the next start does it.
    this.pins.whenFree(replaced, () => this.background.isOver || this.background.track(remove()));
  }

  /** Removes parts that no version has, and the log of a frame that was dropped. */
  async #clean(slot: Slot): Promise<void> {
    // It is not known which files are needed.
    if (slot.known === undefined || isDamaged(slot.current) || !isListed(slot)) return;
    await this.#options.checkLock();
    if (!slot.isSwept) await this.#sweep(slot);
    if (slot.current !== undefined) return;
    await removeLog(slot);
    removeSlot(slot);
  }

  /**
   * Removes parts that no entry names. A process that is about to name one cannot create the next entry after this, and places
   * its rows again under another name.
   */
  async #sweep(slot: Slot): Promise<void> {
    const files = unneededFiles(slot);
    if (files.length > 0) {
      const version = this.#options.versions.next('');
      await this.#append(
        slot,
        (before) => sameState(slot, before, version),
        () => slot.current && this.#noteEntry(slot, slot.current),
      );
      await forEachConcurrently(files, unlinkIfThere);
    }
    slot.isSwept = true;
  }
}
