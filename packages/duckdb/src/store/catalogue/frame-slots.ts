import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { link, mkdir, rename, rm, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { createDirectoryObjects, type Objects, OutcomeUnknown } from '@svc/objects';
import { hasCode, syncDirectory } from '@svc/objects/internal';
import type { PartSize } from '../../files/frame-files.ts';
import { FRAME_CODEC, type FrameMove, type FrameState, type StoredPart } from '../log/frame-entry.ts';
import { createFrameLog, entryName, type FrameLog, type NumberedEntry } from '../log/frame-log.ts';
import { filesIn, folderOfHandle, LOG_FOLDER, partFileName } from './frame-folders.ts';
import { folderOfTenant } from './frame-names.ts';
import type { SizedPart, StoredFrame } from './stored-frame.ts';
import { createTenantFolder, type TenantFolder } from './tenant-folder.ts';

/** A tenant, and the frames that its folder has. */
export interface TenantSlots {
  readonly name: string;
  readonly folder: TenantFolder;
  readonly objects: Objects;
  /** By handle in lower case: two handles of a tenant never differ only in case. */
  readonly slots: Map<string, Slot>;
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
  /** False: the folder may have parts of changes that were not completed. */
  isSwept: boolean;
  /** The number of the newest entry when old ones were removed. */
  trimmed: number;
  /** True if a problem with the log was reported. */
  isReported: boolean;
  /** Why the frame can neither be read nor changed: an operator has to repair files of an earlier format. */
  failure: ServiceError | undefined;
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
  return { name, folder: createTenantFolder(path), objects, slots: new Map(), sorted: undefined };
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
    isSwept: false,
    trimmed: 0,
    isReported: false,
    failure: undefined,
  };
}

/** The file of an entry. */
export function entryFile({ path }: Slot, number: number): string {
  return join(path, LOG_FOLDER, entryName(number));
}

/** The newest entry of a slot, once a move that has decided is complete. Undefined: the log has none. */
export async function readSlot(slot: Slot, isReadOnly: boolean): Promise<NumberedEntry<FrameState> | undefined> {
  const newest = await slot.log().newest();
  const moving = newest?.state.moving;
  if (newest === undefined || moving === undefined || !(await hasArrived(slot, moving))) return newest;
  if (isReadOnly) return { ...newest, state: withoutRows(newest.state, newest.state.version) };
  return (await endMove(slot, moving.id)) ?? slot.log().newest();
}

/** What must be known of the newest entry of a slot to create the next one. */
export function knownOf(newest: NumberedEntry<FrameState> | undefined): KnownEntry {
  return { number: newest?.number, version: newest?.state.version ?? '', from: newest?.state.from };
}

/** True if the frame of a slot has moved to the other handle. */
async function hasArrived({ tenant }: Slot, { handle, id }: FrameMove): Promise<boolean> {
  return (await slotOf(tenant, handle).log().newest())?.state.from?.id === id;
}

/** The last step of a move. Undefined: another change came first. */
export function endMove(slot: Slot, id: string): Promise<NumberedEntry<FrameState> | undefined> {
  return slot.log().change(async (now) => (now?.moving?.id === id ? withoutRows(now, now.version) : undefined));
}

/** Drops a frame: it has no rows from now on. */
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
  if (from) await readSlot(slotOf(slot.tenant, from.handle), false);
  try {
    const entry = await slot.log().change(async (now) => {
      if ((now?.version ?? '') !== version) throw changedByOthers(slot);
      return next(now);
    });
    if (entry === undefined) throw changedByOthers(slot);
    slot.known = knownOf(entry);
    return entry.state;
  } catch (error) {
    if (!(error instanceof OutcomeUnknown)) throw error;
    // The next read finds out, and also which parts are needed.
    slot.known = undefined;
    slot.isSwept = false;
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
  readonly from: string;
  readonly size: PartSize;
  /** True if the file keeps its former name, too. */
  readonly isKept?: true;
}

/**
 * Gives the new parts of a version names in the folder of the frame, durably. No reader looks there before an entry names
 * them; without one, the next clean-up removes them.
 */
export async function placeParts(
  slot: Slot,
  version: string,
  next: readonly NextPart[],
): Promise<readonly SizedPart[]> {
  // Files behind a link are not ours.
  const found = lstatSync(slot.path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory()) throw notAFolder(slot);
  // The names of the folders are flushed with the entry.
  await mkdir(join(slot.path, LOG_FOLDER), { recursive: true }).catch((error: unknown) => {
    throw hasCode(error, 'EEXIST') ? notAFolder(slot) : error;
  });
  const parts: SizedPart[] = [];
  for (const part of next) {
    if ('path' in part) parts.push(part);
    else {
      const path = join(slot.path, partFileName(version));
      await link(part.from, path);
      parts.push({ path, size: part.size });
    }
  }
  await syncDirectory(slot.path);
  return parts;
}

function notAFolder({ key, path }: Slot): ServiceError {
  const message = `The frame ${quoted(key)} cannot be stored: ${basename(path)} is not a folder with a log.`;
  return new ServiceError('unavailable', message, { hint: 'Use another handle, or ask the operator to move it away.' });
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

/** The parts in the folder of a slot that nothing needs. Without a log, the folder is not ours. */
export function unneededParts({ path }: Slot, needed: ReadonlySet<string>): readonly string[] {
  const { parts, hasLog } = filesIn(path);
  return hasLog ? parts.map((name) => join(path, name)).filter((part) => !needed.has(part)) : [];
}

/** The entries that a process before this one did not complete. */
export function unfinishedEntries({ path }: Slot): readonly string[] {
  const log = join(path, LOG_FOLDER);
  const names = existsSync(log) ? readdirSync(log).filter((name) => name.endsWith('.unfinished')) : [];
  return names.map((name) => join(log, name)).filter((file) => statSync(file).mtimeMs < performance.timeOrigin);
}

/** Removes the log of a frame that was dropped, the newest entry last, and then the folder if it is empty. */
export async function removeLog({ tenant, path }: Slot): Promise<void> {
  const keys: string[] = [];
  for await (const key of tenant.objects.list(`${basename(path)}/${LOG_FOLDER}/`)) keys.push(key);
  await tenant.objects.remove(keys);
  for (const folder of [join(path, LOG_FOLDER), path]) await rmdir(folder).catch(() => {});
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
  next: Pick<FrameState, 'expires' | 'handle' | 'rows' | 'version'> &
    Partial<Pick<FrameState, 'columns' | 'from' | 'isSame'>>,
): FrameState {
  return { table: now?.table ?? randomUUID(), ...next };
}
