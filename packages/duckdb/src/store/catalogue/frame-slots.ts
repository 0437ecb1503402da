import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync } from 'node:fs';
import { link, mkdir, rename, rm, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { createDirectoryObjects, type Objects, OutcomeUnknown } from '@svc/objects';
import { hasCode, makeDirectory, readSmallFile, syncDirectory, UNFINISHED, unlinkIfThere } from '@svc/objects/internal';
import { type FrameRef, type Handle, parseHandle } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import type { FramePart } from '../../files/frame-files.ts';
import { schemaText } from '../../types/stored-types.ts';
import { deltaColumns } from '../log/delta-schema.ts';
import { entryOfOther, FRAME_CODEC, type FrameMove, type FrameState, type StoredPart } from '../log/frame-entry.ts';
import {
  createFrameLog,
  entryName,
  type FrameLog,
  MAX_ENTRY_BYTES,
  type NumberedEntry,
  type SeenEntry,
} from '../log/frame-log.ts';
import { folderOfHandle, LAST_CHECKPOINT, LOG_FOLDER, namesIn, partFileName, partsIn } from './frame-folders.ts';
import { folderOfTenant } from './frame-names.ts';
import type { StoreProblem } from './store-problem.ts';
import { changedFrame } from '../store-errors.ts';
import {
  type ListedRows,
  newFrame,
  type NextPart,
  type NextVersion,
  pathsOf,
  type StoredFrame,
} from './stored-frame.ts';
import { createTenantFolder, forEachConcurrently, type TenantFolder, unfinishedPath } from './tenant-folder.ts';

/** A tenant, and the frames that its folder has. */
export interface TenantSlots {
  readonly name: string;
  /** The folder with its frames. */
  readonly path: string;
  /** Where this process begins new files. */
  readonly own: TenantFolder;
  readonly objects: Objects;
  /** By handle in lower case: two handles of a tenant never differ only in case. */
  readonly slots: Map<string, Slot>;
  /** By the same: why a frame can neither be read nor changed. An operator has to repair files of an earlier format. */
  readonly notTakenOver: Map<string, ServiceError>;
  /** The frames sorted by handle; undefined after a change. */
  sorted: readonly StoredFrame[] | undefined;
}

/** The place of one handle: the folder of its frame, and what is known of its log. */
export interface Slot {
  readonly tenant: TenantSlots;
  /** The handle in lower case. */
  readonly key: string;
  readonly path: string;
  /** Undefined: the log was not read yet, or it is not known if a change succeeded. */
  known: KnownEntry | undefined;
  /** Set while the log is read. */
  reading: Promise<unknown> | undefined;
  current: StoredFrame | undefined;
  /** False: the folder may have parts of changes that were not completed. */
  isSwept: boolean;
  /** True if a problem with the log was reported. */
  isReported: boolean;
}

/** What must be known of the newest entry of a log to create the next one. */
export interface KnownEntry {
  /** Undefined: the log has no entry. */
  readonly seen: SeenEntry | undefined;
  /** That of the frame, also of one that was dropped. */
  readonly version: string;
  /** Set until the log of the handle that the frame has left is known to say so. */
  readonly from: FrameMove | undefined;
  /** Set if the frame may have got another handle since. */
  readonly moving: FrameMove | undefined;
}

/** Creates the slots of a tenant, without reading its folder. `own`: only for reading, there need not be one. */
export function createTenantSlots(directory: string, name: string, own?: TenantFolder): TenantSlots {
  const path = join(directory, folderOfTenant(name));
  const folder = own ?? createTenantFolder(path);
  return {
    name,
    path,
    own: folder,
    objects: createDirectoryObjects(path, folder),
    slots: new Map(),
    notTakenOver: new Map(),
    sorted: undefined,
  };
}

/** Returns the slot of a handle, which is not read yet if it is new. It is not one of the tenant until it is added. */
export function slotOf(tenant: TenantSlots, handle: string): Slot {
  const key = handle.toLowerCase();
  const known = tenant.slots.get(key);
  if (known) return known;
  return {
    tenant,
    key,
    path: join(tenant.path, folderOfHandle(key)),
    known: undefined,
    reading: undefined,
    current: undefined,
    isSwept: false,
    isReported: false,
  };
}

/** False for a slot whose frame was dropped and whose log was removed, and before its first frame. */
export function isListed(slot: Slot): boolean {
  return slot.tenant.slots.get(slot.key) === slot;
}

/** Another one takes its place when the handle is used again. */
export function removeSlot(slot: Slot): void {
  if (isListed(slot)) slot.tenant.slots.delete(slot.key);
  slot.known = undefined;
}

/** True if there is no log. */
export function isEmpty({ known }: Slot): boolean {
  return known !== undefined && known.seen === undefined;
}

export function addSlot(slot: Slot): void {
  slot.tenant.slots.set(slot.key, slot);
  slot.tenant.sorted = undefined;
}

/** True for a frame whose entry cannot be read. */
export function isDamaged(frame: StoredFrame | undefined): boolean {
  return frame !== undefined && frame.fileBytes === undefined;
}

/** A key is a handle, too. */
export function refOf({ tenant, key }: Slot): FrameRef {
  return { tenant: tenant.name, handle: parseHandle(key) };
}

export function currentOf({ slots }: TenantSlots): StoredFrame[] {
  return [...slots.values()].flatMap(({ current }) => current ?? []);
}

/** No other entry gets the tag of one that was removed: file times are at most some milliseconds coarse. */
const MIN_ENTRY_AGE_MS = 20;

/** The log of a slot. It remembers its newest entry, with the names of all columns: too much for the slots of many frames. */
export function logOf({ tenant, path, known }: Slot): FrameLog<FrameState> {
  const options = { objects: tenant.objects, codec: FRAME_CODEC, minAgeMs: MIN_ENTRY_AGE_MS };
  return createFrameLog({ ...options, prefix: logPrefix(path), seen: known?.seen });
}

const logPrefix = (path: string): string => `${basename(path)}/${LOG_FOLDER}/`;

/** The file of an entry. */
export function entryFile({ path }: Slot, number: number): string {
  return join(path, LOG_FOLDER, entryName(number));
}

/** The newest entry of a slot, once a move that has decided is complete. Undefined: the log has none. */
export async function readSlot(slot: Slot, isReadOnly: boolean): Promise<NumberedEntry<FrameState> | undefined> {
  const found = await logOf(slot).newest();
  const newest = found && { ...found, state: stateIn(slot, found.state) };
  const moving = newest?.state.moving;
  if (newest === undefined || moving === undefined || !(await hasArrived(slot, moving))) return newest;
  if (isReadOnly) return { ...newest, state: withoutRows(newest.state, newest.state.version) };
  return (await endMove(slot, moving.id)) ?? logOf(slot).newest();
}

/** The state in an entry of a slot. That of another handle is damage: someone has copied or moved its folder. */
function stateIn({ key }: Slot, state: FrameState): FrameState {
  if (state.damage || state.handle.toLowerCase() === key) return state;
  return { ...state, rows: undefined, moving: undefined, damage: entryOfOther(state.handle) };
}

/** Reads the entry of a version of a slot from its file. A damaged one is `invalid_data`. */
export async function readVersion(slot: Slot, file: string, frame: StoredFrame): Promise<ListedRows> {
  const text = await readSmallFile(file, MAX_ENTRY_BYTES);
  const { damage, rows, version } = stateIn(slot, FRAME_CODEC.decode(Buffer.from(text ?? '')).state);
  if (damage) throw damage;
  // The holder of the directory has dropped the frame and put another since.
  if (version !== frame.version && !isDamaged(frame)) throw changedFrame(frame.handle);
  return { parts: listedParts(slot, rows?.parts ?? []), schema: rows?.schema ?? '' };
}

/** What must be known of the newest entry of a slot to create the next one. */
export function knownOf(newest: NumberedEntry<FrameState> | undefined): KnownEntry {
  const { version = '', from, moving } = newest?.state ?? {};
  return { seen: newest && { number: newest.number, tag: newest.tag }, version, from, moving };
}

/** True if the frame of a slot has moved to the other handle. */
async function hasArrived({ tenant }: Slot, { handle, id }: FrameMove): Promise<boolean> {
  return (await logOf(slotOf(tenant, handle)).newest())?.state.from?.id === id;
}

/** The last step of a move. Undefined: another change came first. */
export function endMove(slot: Slot, id: string): Promise<NumberedEntry<FrameState> | undefined> {
  return logOf(slot).change(async (now) => (now?.moving?.id === id ? withoutRows(now, now.version) : undefined));
}

/** The state of a frame that was dropped, or has another handle now. */
export function withoutRows({ handle, table }: FrameState, version: string): FrameState {
  return { handle, table, version, rows: undefined, expires: null };
}

/**
 * Makes the next state of a slot durable. Fails with `ChangedByOthers` if its newest entry is not the one that is known, and
 * with `UnknownChange` if it may have succeeded: what the state names must stay then. `placed`: the parts that are new in it.
 */
export async function appendTo(
  slot: Slot,
  next: (now: FrameState | undefined) => FrameState | undefined,
  placed: readonly PlacedPart[] = [],
): Promise<NumberedEntry<FrameState>> {
  const { seen } = slot.known ?? {};
  try {
    const entry = await logOf(slot).change(async (now, newest) => {
      if (newest?.number !== seen?.number || newest?.tag !== seen?.tag) throw new ChangedByOthers();
      return next(now);
    });
    if (entry === undefined) throw new ChangedByOthers();
    if (entry.number === 0) await placeAgain(slot, placed);
    return entry;
  } catch (error) {
    throw error instanceof OutcomeUnknown ? new UnknownChange(slot, error) : error;
  }
}

/** A change that may or may not have happened. */
export class UnknownChange extends ServiceError {
  constructor({ key }: Slot, cause: unknown) {
    const message = `It is not known if the frame ${quoted(key)} was changed: the disk reported an error.`;
    super('unavailable', message, { hint: 'Read the frame to find out.', cause });
  }
}

/** The newest entry is not the known one, on which a change builds: the change has to run again. */
export class ChangedByOthers extends Error {
  override readonly name = 'ChangedByOthers';
}

/** A part with a name in the folder of the frame, and the one that it has besides. */
export interface PlacedPart {
  readonly from: string;
  readonly path: string;
}

/**
 * Gives the new parts of a version names in the folder of the frame, durably. No reader looks there before an entry names
 * them; without one, the next clean-up removes them.
 */
export async function placeParts(
  slot: Slot,
  version: string,
  next: readonly NextPart[],
  placed: PlacedPart[] = [],
): Promise<readonly FramePart[]> {
  if (slot.known?.seen === undefined) await makeDirectory(slot.tenant.path);
  // The names of the folders are flushed with the entry.
  await mkdir(join(slot.path, LOG_FOLDER), { recursive: true }).catch((error: unknown) => {
    throw hasCode(error, 'EEXIST') ? new NotAFolder(slot) : error;
  });
  const parts: FramePart[] = [];
  for (const part of next) {
    if ('path' in part) parts.push(part);
    else {
      const path = join(slot.path, partFileName(version));
      placed.push({ from: part.from, path });
      await link(part.from, path).catch((error: unknown) => {
        if (hasCode(error, 'EXDEV')) throw otherFileSystem(slot.tenant, error);
        throw existsSync(part.from) ? orChanged(error) : error;
      });
      parts.push({ path, size: part.size });
    }
  }
  await syncDirectory(slot.path).catch((error: unknown) => {
    throw orChanged(error);
  });
  return parts;
}

/** A process that has found nothing that needs the folder of a new frame has removed it. */
function orChanged(error: unknown): unknown {
  return hasCode(error, 'ENOENT') ? new ChangedByOthers() : error;
}

/**
 * Gives the parts of a new frame their names again, if a process has removed them before the first entry was there: it had
 * fenced them off, and has removed the fence with the log.
 */
async function placeAgain(slot: Slot, placed: readonly PlacedPart[]): Promise<void> {
  try {
    const missing = placed.filter(({ path }) => lstatSync(path, { throwIfNoEntry: false }) === undefined);
    for (const { from, path } of missing) await link(from, path);
    if (missing.length > 0) await syncDirectory(slot.path);
  } catch (error) {
    throw new UnknownChange(slot, error);
  }
}

/** Places the parts of a version, and returns the frame and its state. With many columns, each step takes milliseconds. */
export async function placeVersion(
  slot: Slot,
  handle: Handle,
  next: NextVersion,
  onProblem: (problem: StoreProblem) => void,
) {
  const { version, expires, isSame, contents } = next;
  const pause = createYield();
  const placed: PlacedPart[] = [];
  try {
    const parts = await placeParts(slot, version, next.parts, placed);
    const rows = { schema: schemaText(contents.schema), parts: storedParts(parts) };
    await pause();
    const columns = await deltaColumns(contents.schema);
    await pause();
    const frame = newFrame(slot.tenant.name, { handle, version, parts, contents });
    return { frame, placed, state: { handle, version, rows, columns, expires, ...(isSame && { isSame }) } };
  } catch (error) {
    await removeParts(slot, placed, onProblem);
    throw error;
  }
}

/** True if the place of a folder is taken. Files behind a link are not ours. */
export function isTaken({ path }: Slot): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
}

/** Fails if the place of a folder is taken. */
export function checkFolder(slot: Slot): void {
  if (isTaken(slot)) throw new NotAFolder(slot);
}

/** Something else has the name of the folder of a frame, or of its log. */
export class NotAFolder extends ServiceError {
  constructor({ key, path }: Slot) {
    const message = `The frame ${quoted(key)} cannot be stored: ${basename(path)} is not a folder with a log.`;
    super('unavailable', message, { hint: 'Use another handle, or ask the operator to move it away.' });
  }
}

function otherFileSystem({ name }: TenantSlots, cause: unknown): ServiceError {
  const message = `The folder of the tenant ${quoted(name)} is on another file system than the directory around it.`;
  return new ServiceError('unavailable', message, {
    hint: 'Ask the operator to move it: all frames of a directory must be on one file system.',
    cause,
  });
}

/** The parts of a frame as its entry lists them. */
export function storedParts(parts: readonly FramePart[]): readonly StoredPart[] {
  return parts.map(({ path, size: { rows, fileBytes, arrowBytes } }) => ({
    file: basename(path),
    size: { rows, fileBytes, ...(arrowBytes !== undefined && { arrowBytes }) },
  }));
}

/** The parts that an entry lists as files. */
export function listedParts({ path }: Slot, parts: readonly StoredPart[]): readonly FramePart[] {
  return parts.map(({ file, size }) => ({ path: join(path, file), size }));
}

/**
 * The files in the folder of a slot that nothing needs while it does not change. Without a log, the folder is not ours. With
 * something after the newest entry that is no entry, it is not known what is needed.
 */
export function unneededFiles(slot: Slot): readonly string[] {
  const log = join(slot.path, LOG_FOLDER);
  if (!existsSync(log)) return [];
  const names = namesIn(log);
  const newest = slot.known?.seen === undefined ? '' : entryName(slot.known.seen.number);
  if (names.some((name) => ENTRY.test(name) && name > newest)) return [];
  const needed = new Set(slot.current ? pathsOf(slot.current) : []);
  const parts = partsIn(slot.path).map((name) => join(slot.path, name));
  const unfinished = names.filter((name) => name.endsWith(UNFINISHED)).map((name) => join(log, name));
  return [...parts.filter((part) => !needed.has(part)), ...unfinished];
}

const ENTRY = /^[0-9]{20}\.json$/;

/** Removes the known entries of a frame that was dropped, its checkpoints, and its folder unless it has others. */
export async function removeLog(slot: Slot): Promise<void> {
  const { tenant, path, known } = slot;
  const prefix = logPrefix(path);
  const newest = known?.seen === undefined ? '' : `${prefix}${entryName(known.seen.number)}`;
  const keys = [`${prefix}${LAST_CHECKPOINT}`];
  // A checkpoint comes right before its entry.
  for await (const key of tenant.objects.list(prefix)) if (key <= newest) keys.push(key);
  const log = join(path, LOG_FOLDER);
  if (keys.length > 1) {
    // The newest last, also after a power failure: it says that the frame was dropped.
    await tenant.objects.remove(keys.slice(0, -1));
    await syncDirectory(log);
  }
  await tenant.objects.remove(keys.slice(-1));
  await removeEmptyFolder(slot);
}

/** Removes parts that nothing needs, and the folder of a frame that has no file. A failure is reported. */
export async function removeParts(
  slot: Slot,
  parts: readonly { readonly path: string }[],
  onProblem: (problem: StoreProblem) => void,
): Promise<void> {
  try {
    await forEachConcurrently(parts, ({ path }) => unlinkIfThere(path));
    if (slot.known?.seen === undefined) await removeEmptyFolder(slot);
  } catch (cause) {
    slot.isSwept = false;
    onProblem({ kind: 'not_removed', ...refOf(slot), cause });
  }
}

async function removeEmptyFolder({ path }: Slot): Promise<void> {
  for (const folder of [join(path, LOG_FOLDER), path]) await rmdir(folder).catch(() => {});
}

/** Removes the folder of a frame at once, without a byte of space. Its name shows the next start that it is to go. */
export async function removeFolder({ tenant, path }: Slot): Promise<void> {
  // Not among the files of this process: without space, they may have no folder.
  const away = unfinishedPath(tenant.path);
  await rename(path, away);
  await syncDirectory(tenant.path);
  await rm(away, { recursive: true, force: true });
}

/** The state of an entry that changes nothing. */
export function sameState({ key }: Slot, now: FrameState | undefined, version: string): FrameState {
  if (now) return { ...now, from: undefined, isSame: true };
  return { table: randomUUID(), handle: parseHandle(key), version, rows: undefined, expires: null };
}

/** The state of a new version. */
export function stateOf(
  now: FrameState | undefined,
  next: Pick<FrameState, 'expires' | 'handle' | 'rows' | 'version'> &
    Partial<Pick<FrameState, 'columns' | 'from' | 'isSame'>>,
): FrameState {
  return { table: now?.table ?? randomUUID(), ...next };
}
