import { stat } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { hasCode } from '@svc/objects/internal';
import type { FrameFiles } from '../../../files/frame-files.ts';
import { schemaText } from '../../../types/stored-types.ts';
import {
  appendTo,
  checkFolder,
  knownOf,
  NotAFolder,
  placeParts,
  readSlot,
  type Slot,
  slotOf,
  stateOf,
  storedParts,
  type TenantSlots,
} from '../frame-slots.ts';
import { checkTakenOver } from '../directory-format.ts';
import { isDamage } from '../../store-errors.ts';
import type { StoreProblem } from '../store-problem.ts';
import { forEachConcurrently } from '../tenant-folder.ts';
import type { ListedRows } from '../stored-frame.ts';
import { type OldHandle, readManifest, readOldFolder, removeOld, type VersionName, versionPath } from './old-folder.ts';

/** Options of `takeOver`. */
export interface TakeOverOptions {
  readonly files: Pick<FrameFiles, 'describe'>;
  /** Called with each frame whose files cannot be read. They stay, and the next start tries again. */
  readonly onProblem: (problem: StoreProblem) => void;
}

/**
 * Takes over the frames of a tenant's folder of format 1: each gets a log, and its files get names in the folder of the frame.
 * No rows are written. The process can die at any moment: a frame whose log has its version was taken over, and what is left
 * of its files is removed.
 */
export async function takeOver(tenant: TenantSlots, options: TakeOverOptions): Promise<void> {
  const { path, name } = tenant;
  const { handles, orphans, ambiguous } = await readOldFolder(path);
  for (const { handle } of ambiguous) {
    options.onProblem({
      kind: 'unreadable_expiry',
      tenant: name,
      handle,
      cause: new Error('The expiry file is not valid.'),
    });
  }
  await forEachConcurrently([...handles.values()], (files) => takeOverHandle(tenant, files, options));
  await removeOld(path, [], orphans, []);
}

async function takeOverHandle(tenant: TenantSlots, files: OldHandle, options: TakeOverOptions): Promise<void> {
  const { path } = tenant;
  const { current, left, parts, tombstones } = files;
  if (current !== undefined && !(await takeOverFrame(tenant, current, files.expires, options))) return;
  const versions = current === undefined ? left : [...left, current];
  await removeOld(path, [...versions.map((version) => versionPath(path, version)), ...parts], versions, tombstones);
}

/** Returns false if the files of the version cannot be read. */
async function takeOverFrame(
  tenant: TenantSlots,
  name: VersionName,
  expires: Date | null,
  { files, onProblem }: TakeOverOptions,
): Promise<boolean> {
  const { handle, version } = name;
  const slot = slotOf(tenant, handle);
  try {
    checkFolder(slot);
    slot.known = knownOf(await readSlot(slot, false));
    if (slot.known.version >= version) return true;
    const { parts, schema } = await manifestOf(tenant, name, files);
    const staged = parts.map(({ path: from, size }) => ({ from, size }));
    const rows = { schema, parts: storedParts(await placeParts(slot, version, staged)) };
    await appendTo(slot, (before) => stateOf(before, { handle, version, rows, expires }));
    return true;
  } catch (cause) {
    const isTaken = cause instanceof NotAFolder;
    if (!isTaken && !isDamage(cause) && !hasCode(cause, 'ENOENT')) throw cause;
    onProblem({ kind: 'damaged_frame', tenant: tenant.name, handle, cause });
    keepFiles(slot, isTaken ? cause : notTakenOver(handle, cause));
    return false;
  }
}

/** Finds the frames that the takeover of a directory has left. Fails if the directory was not taken over. */
export async function findNotTakenOver(directory: string, tenant: TenantSlots): Promise<void> {
  await checkTakenOver(directory);
  const { handles } = await readOldFolder(tenant.path);
  tenant.notTakenOver.clear();
  for (const { current } of handles.values()) {
    if (current) keepFiles(slotOf(tenant, current.handle), notTakenOver(current.handle));
  }
}

/** A new frame with this handle would take the place of the files. */
function keepFiles(slot: Slot, failure: ServiceError): void {
  slot.tenant.notTakenOver.set(slot.key, failure);
  slot.tenant.slots.set(slot.key, slot);
}

function notTakenOver(handle: string, cause?: unknown): ServiceError {
  const message = `The frame ${quoted(handle)} cannot be read: its files of an earlier format are missing or damaged.`;
  return new ServiceError('internal', message, {
    hint: 'Ask the operator to restore them, or to remove them, and to start the server again.',
    cause,
  });
}

/** The parts of a version, which is one file or has a manifest. */
async function manifestOf(
  { path: folder }: TenantSlots,
  name: VersionName,
  files: TakeOverOptions['files'],
): Promise<ListedRows> {
  if (name.isManifest) return readManifest(folder, name);
  const path = versionPath(folder, name);
  const [info] = await files.describe([{ kind: 'parquet', path, isOwn: true }]);
  if (info === undefined || info instanceof Error) throw info ?? new Error('The file was not described.');
  const { schema, rows, arrowBytes } = info;
  const { size: fileBytes } = await stat(path);
  const size = { rows, fileBytes, ...(arrowBytes !== undefined && { arrowBytes }) };
  return { parts: [{ path, size }], schema: schemaText(schema) };
}
