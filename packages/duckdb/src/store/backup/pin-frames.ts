import type { FileHandle } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ServiceError } from '@svc/errors';
import { openRegular } from '@svc/objects/internal';
import type { FrameState } from '../log/frame-entry.ts';
import { listTenant, LOG_FOLDER, partsIn } from '../catalogue/frame-folders.ts';
import { entryFile, readSlot, type Slot, slotOf, type TenantSlots } from '../catalogue/frame-slots.ts';
import { BackupError } from './backup-error.ts';

/** A version of a frame whose files are open: another process may remove their names, but not their bytes. */
export interface PinnedFrame {
  readonly handle: string;
  readonly files: readonly PinnedFile[];
  /** The paths of files that the version lists but that do not exist. */
  readonly missing: readonly string[];
  /** Why there are no files. */
  readonly problem?: string;
}

/** An open file. */
export interface PinnedFile {
  readonly path: string;
  /** Its path in the folder of the tenant. */
  readonly name: string;
  readonly file: FileHandle;
  /** Set if it is an entry that can be read. */
  readonly isEntry?: true;
}

/** The number of files that are open at once, or a few more: those of one version are pinned together. */
const MAX_OPEN_FILES = 256;

/** A frame that is replaced all the time may be gone whenever its entry has been read. */
const MAX_ATTEMPTS = 500;

/**
 * Pins the newest version of every frame of a tenant, whose folder another process may be writing to, in groups; the caller
 * closes the files of a group before it asks for the next. Each handle is pinned once, as it was at some moment since the
 * call. A frame that exists all the time is among them, also if it is renamed; it may then be pinned under both handles.
 */
export async function* pinFrames(
  tenant: TenantSlots,
  signal?: AbortSignal,
): AsyncGenerator<readonly PinnedFrame[], void> {
  const done = new Set<string>();
  let group: PinnedFrame[] = [];
  try {
    // A frame may get the handle of a folder that had none when it was looked at, or of a new one. So all are looked at again
    // until two rounds have found nothing.
    for (let quiet = 0; quiet < 2; quiet += 1) {
      const { keys } = await listTenant(tenant.path);
      for (const key of keys) {
        signal?.throwIfAborted();
        const pinned = done.has(key) ? undefined : await pin(slotOf(tenant, key));
        if (pinned === undefined) continue;
        done.add(key);
        group.push(pinned);
        quiet = -1;
        if (group.reduce((count, { files }) => count + files.length, 0) < MAX_OPEN_FILES) continue;
        yield group;
        group = [];
      }
    }
    if (group.length > 0) yield group;
  } finally {
    // After a failure the caller does not get the group. To close a file again does nothing.
    await Promise.all(group.map(closeFiles));
  }
}

/** Opens the files of the newest version. Undefined: there is no frame. */
async function pin(slot: Slot): Promise<PinnedFrame | undefined> {
  let last: string | undefined;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    let newest: Awaited<ReturnType<typeof readSlot>>;
    try {
      newest = await readSlot(slot, true);
    } catch (error) {
      if (error instanceof ServiceError) return { handle: slot.key, files: [], missing: [], problem: error.message };
      throw error;
    }
    if (newest === undefined || (!newest.state.rows && !newest.state.damage)) return undefined;
    const pinned = await openFiles(slot, newest.number, newest.state);
    // A version that is still the newest one after a file of it was not found has lost that file.
    if (pinned.missing.length === 0 || last === newest.id) return pinned;
    await closeFiles(pinned);
    last = newest.id;
  }
  throw new BackupError(`The frame ${JSON.stringify(slot.key)} is replaced faster than it can be copied.`, {
    hint: 'Try again when there are fewer writes, or use a snapshot of the file system.',
  });
}

async function openFiles(slot: Slot, number: number, { rows, handle }: FrameState): Promise<PinnedFrame> {
  const folder = basename(slot.path);
  const entry = entryFile(slot, number);
  // A damaged entry may have listed any of the parts.
  const parts = rows?.parts.map(({ file }) => file) ?? partsIn(slot.path);
  const wanted = [
    { path: entry, name: `${folder}/${LOG_FOLDER}/${basename(entry)}`, ...(rows && { isEntry: true as const }) },
    ...parts.map((part) => ({ path: join(slot.path, part), name: `${folder}/${part}` })),
  ];
  const files: PinnedFile[] = [];
  const missing: string[] = [];
  try {
    for (const one of wanted) {
      const file = await openRegular(one.path);
      if (file) files.push({ ...one, file });
      else missing.push(one.path);
    }
  } catch (error) {
    await closeFiles({ files });
    throw error;
  }
  return { handle: handle.toLowerCase() === slot.key ? handle : slot.key, files, missing };
}

/** Closes the files of a version. */
export async function closeFiles({ files }: Pick<PinnedFrame, 'files'>): Promise<void> {
  await Promise.all(files.map(({ file }) => file.close()));
}
