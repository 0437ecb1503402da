import { randomUUID } from 'node:crypto';
import { link, mkdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { createDirectoryObjects, type Objects, OutcomeUnknown } from '@svc/objects';
import { syncDirectory, unlinkIfThere } from '@svc/objects/internal';
import type { PartSize } from '../../files/frame-files.ts';
import { FRAME_CODEC, type FrameMove, type FrameState, type StoredPart } from '../log/frame-entry.ts';
import { createFrameLog, entryName, type FrameLog } from '../log/frame-log.ts';
import { folderOfHandle, LOG_FOLDER, partFileName, partsIn } from './frame-folders.ts';
import { folderOfTenant } from './frame-names.ts';
import type { SizedPart, StoredFrame } from './stored-frame.ts';
import { createTenantFolder, forEachConcurrently, type TenantFolder } from './tenant-folder.ts';

/** A tenant, and the frames that its folder has. */
export interface TenantSlots {
  readonly name: string;
  readonly folder: TenantFolder;
  readonly objects: Objects;
  /** By handle in lower case: two handles of a tenant never differ only in case. */
  readonly slots: Map<string, Slot>;
  /** False: an earlier process died among changes. */
  isClean: boolean;
  /** The frames sorted by handle; undefined after a change. */
  sorted: readonly StoredFrame[] | undefined;
}

/** The place of one handle: the folder of its frame, and what is known of its log. */
export interface Slot {
  readonly tenant: TenantSlots;
  /** The handle in lower case. */
  readonly key: string;
  readonly path: string;
  readonly log: () => FrameLog<FrameState>;
  /** Undefined: the log was not read yet, or it is not known if a change succeeded. */
  known: KnownEntry | undefined;
  current: StoredFrame | undefined;
  /** Replaced or dropped versions. Their files are removed when they have no readers. */
  readonly left: Set<StoredFrame>;
  /** False: the folder may have parts of changes that an earlier process did not complete. */
  isSwept: boolean;
  /** True if a problem with the log was reported. */
  isReported: boolean;
}

/** What must be known of the newest entry of a log to create the next one. */
export interface KnownEntry {
  /** Undefined: the log has no entry. */
  readonly number: number | undefined;
  /** That of the frame, also of one that was dropped. */
  readonly version: string;
  /** Set until the log of the handle that the frame has left is known to say so. */
  readonly from: FrameMove | undefined;
}

/** Creates the slots of a tenant, without reading its folder. */
export function createTenantSlots(directory: string, name: string): TenantSlots {
  const path = join(directory, folderOfTenant(name));
  const objects = createDirectoryObjects(path);
  return { name, folder: createTenantFolder(path), objects, slots: new Map(), isClean: true, sorted: undefined };
}

/** Returns the slot of a handle, which is not read yet if it is new. It is not one of the tenant until it is added. */
export function slotOf(tenant: TenantSlots, handle: string): Slot {
  const key = handle.toLowerCase();
  const known = tenant.slots.get(key);
  if (known) return known;
  const folder = folderOfHandle(key);
  const prefix = `${folder}/${LOG_FOLDER}/`;
  return {
    tenant,
    key,
    path: join(tenant.folder.path, folder),
    // A log remembers its newest entry, with the names of all columns: too much for the slots of many frames. Old entries need
    // no minimum age, as no other process writes to the directory.
    log: () => createFrameLog({ objects: tenant.objects, prefix, codec: FRAME_CODEC, minAgeMs: 0 }),
    known: undefined,
    current: undefined,
    left: new Set(),
    isSwept: tenant.isClean,
    isReported: false,
  };
}

/** The file of an entry. */
export function entryFile({ path }: Slot, number: number): string {
  return join(path, LOG_FOLDER, entryName(number));
}

/** The newest state of a slot, as `appendTo` would change it. Undefined: the log has no entry. */
export async function readSlot(slot: Slot, isReadOnly: boolean): Promise<FrameState | undefined> {
  const newest = await slot.log().newest();
  if (newest === undefined) {
    slot.known = { number: undefined, version: '', from: undefined };
    return undefined;
  }
  const { number, state } = newest;
  slot.known = { number, version: state.version, from: state.from };
  if (state.moving === undefined || !(await hasArrived(slot, state.moving))) return state;
  return isReadOnly ? withoutRows(state, state.version) : leave(slot, state.version);
}

/** True if the frame of a slot has moved to the other handle. */
async function hasArrived({ tenant }: Slot, { handle, id }: FrameMove): Promise<boolean> {
  return (await slotOf(tenant, handle).log().newest())?.state.from?.id === id;
}

/** The last step of a move, and a drop: the frame has no rows from now on. */
export function leave(slot: Slot, version: string): Promise<FrameState> {
  return appendTo(slot, (now) => now && withoutRows(now, version));
}

function withoutRows({ handle, table }: FrameState, version: string): FrameState {
  return { handle, table, version, rows: undefined, expires: null };
}

/**
 * Makes the next state of a slot durable. If it is not known whether that succeeded, it is `unavailable`, the slot has to be
 * read again, and what the state names must stay.
 */
export async function appendTo(
  slot: Slot,
  next: (now: FrameState | undefined) => FrameState | undefined,
): Promise<FrameState> {
  const { version = '', from } = slot.known ?? {};
  // The next state does not say where the frame came from: the other log must say before that it has left.
  if (from) await readSlot({ ...slotOf(slot.tenant, from.handle), known: undefined }, false);
  try {
    const entry = await slot.log().change(async (now) => {
      if ((now?.version ?? '') !== version) throw changedByOthers(slot);
      return next(now);
    });
    if (entry === undefined) throw changedByOthers(slot);
    slot.known = { number: entry.number, version: entry.state.version, from: entry.state.from };
    return entry.state;
  } catch (error) {
    if (!(error instanceof OutcomeUnknown)) throw error;
    slot.known = undefined;
    throw new UnknownChange(slot, error);
  }
}

/** A change that may or may not have happened. */
export class UnknownChange extends ServiceError {
  constructor({ key }: Slot, cause: unknown) {
    const message = `It is not known if the frame ${quoted(key)} was changed: the disk did not answer.`;
    super('unavailable', message, { hint: 'Read the frame to find out.', cause });
  }
}

function changedByOthers({ key }: Slot): ServiceError {
  return new ServiceError('unavailable', `Another program has changed the frame ${quoted(key)}.`, {
    hint: 'Restart the server. Only one may write to a directory.',
  });
}

/** A part that is published already, or a flushed file that is not. */
export type NextPart = SizedPart | StagedPart;

/** A flushed file that becomes a part. */
export interface StagedPart {
  readonly unfinishedPath: string;
  readonly size: PartSize;
}

/** The parts of a version. */
export interface PlacedParts {
  readonly parts: readonly SizedPart[];
  /** The new ones: their former names, and those in the folder. */
  readonly added: readonly { readonly unfinishedPath: string; readonly path: string }[];
}

/**
 * Gives the new parts of a version names in the folder of the frame, durably; no reader looks there before an entry names
 * them. They keep their former names until then: these show the next start that parts without an entry may be there.
 */
export async function placeParts(slot: Slot, version: string, next: readonly NextPart[]): Promise<PlacedParts> {
  const added: { readonly unfinishedPath: string; readonly path: string }[] = [];
  const parts = next.map((part): SizedPart => {
    if ('path' in part) return part;
    const path = join(slot.path, partFileName(version));
    added.push({ unfinishedPath: part.unfinishedPath, path });
    return { path, size: part.size };
  });
  if (added.length > 0) {
    // The names of the folders are flushed with the entry.
    await mkdir(join(slot.path, LOG_FOLDER), { recursive: true });
    await forEachConcurrently(added, ({ unfinishedPath, path }) => link(unfinishedPath, path));
    await syncDirectory(slot.path);
  }
  return { parts, added };
}

/** The parts of a frame as its entry lists them. */
export function storedParts(parts: readonly SizedPart[]): readonly StoredPart[] {
  return parts.map(({ path, size: { rows, fileBytes, arrowBytes } }) => ({
    file: basename(path),
    size: { rows, fileBytes, ...(arrowBytes !== undefined && { arrowBytes }) },
  }));
}

/** The parts that an entry lists as files. */
export function sizedPartsOf({ path }: Slot, parts: readonly StoredPart[]): readonly SizedPart[] {
  return parts.map(({ file, size }) => ({ path: join(path, file), size }));
}

/** Removes the parts in the folder of a slot that nothing needs. */
export async function sweepParts({ path }: Slot, needed: ReadonlySet<string>): Promise<void> {
  const names = (await partsIn(path)).map((name) => join(path, name));
  await forEachConcurrently(
    names.filter((name) => !needed.has(name)),
    unlinkIfThere,
  );
}

/** Removes the log of a frame that was dropped, the newest entry last, and then the folder. */
export async function removeLog({ tenant, path }: Slot): Promise<void> {
  const keys: string[] = [];
  for await (const key of tenant.objects.list(`${basename(path)}/${LOG_FOLDER}/`)) keys.push(key);
  await tenant.objects.remove(keys);
}

/** Removes the folder of a frame at once, without a byte of space. Its name shows the next start that it is to go. */
export async function removeFolder({ tenant, path }: Slot): Promise<void> {
  const away = tenant.folder.unfinishedPath();
  await rename(path, away);
  await syncDirectory(tenant.folder.path);
  await rm(away, { recursive: true, force: true });
}

/** The state of a new version. */
export function stateOf(
  now: FrameState | undefined,
  next: Pick<FrameState, 'expires' | 'handle' | 'rows' | 'version'> & Partial<Pick<FrameState, 'from' | 'isSame'>>,
): FrameState {
  return { table: now?.table ?? randomUUID(), ...next };
}
