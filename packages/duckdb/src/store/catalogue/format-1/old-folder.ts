import { type Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Handle, isHandle } from '@svc/frames';
import { hasCode, readSmallFile, syncDirectory, unlinkIfThere } from '@svc/objects/internal';
import { forEachConcurrently } from '../tenant-folder.ts';
import type { ListedRows } from '../stored-frame.ts';
import { decodeManifest } from './manifest.ts';
import { type OldKind, oldFileName, parseOldName } from './old-names.ts';

/** The name of a version of a frame. */
export interface VersionName {
  readonly handle: Handle;
  readonly version: string;
  /** True if its file is a manifest: a list of parts. */
  readonly isManifest: boolean;
}

/** The files of one handle, ignoring case. */
export interface OldHandle {
  /** The newest version, if it is not dropped. */
  current: VersionName | undefined;
  /** Null if it never expires. */
  expires: Date | null;
  /** Replaced or dropped versions. */
  readonly left: VersionName[];
  readonly tombstones: VersionName[];
  /** The paths of all parts. */
  readonly parts: string[];
}

/** The contents of a folder. The newest version of a handle is current, unless a tombstone is at least as new. */
export interface OldFolder {
  /** By lowercase handle. */
  readonly handles: ReadonlyMap<string, OldHandle>;
  /** Expiry files of missing versions. */
  readonly orphans: readonly VersionName[];
  /** Versions whose expiry file is not valid. */
  readonly ambiguous: readonly VersionName[];
}

/** The path of the file that makes a version: its rows, or its manifest. */
export function versionPath(folder: string, { handle, version, isManifest }: VersionName): string {
  return join(folder, oldFileName(isManifest ? 'manifest' : 'frame', handle, version));
}

const pathOf = (folder: string, kind: OldKind, { handle, version }: VersionName): string =>
  join(folder, oldFileName(kind, handle, version));

/** Reads the manifest of a version. A damaged one is `invalid_data`. */
export async function readManifest(folder: string, name: VersionName): Promise<ListedRows> {
  const text = await readSmallFile(versionPath(folder, name), MAX_MANIFEST_BYTES);
  return decodeManifest(text ?? '', folder, name.handle);
}

/** A manifest lists a few hundred parts at most. The names of its schema have up to 64 MiB, and more in base64. */
const MAX_MANIFEST_BYTES = 128 * 1024 * 1024;

/** Removes files and the expiries of versions, flushes, then removes the tombstones that hid them. */
export async function removeOld(
  folder: string,
  paths: readonly string[],
  versions: readonly VersionName[],
  tombstones: readonly VersionName[],
): Promise<void> {
  await forEachConcurrently([...paths, ...versions.map((name) => pathOf(folder, 'expiry', name))], unlinkIfThere);
  if (tombstones.length === 0) return;
  // If a tombstone vanished before the versions it hides, they would reappear.
  await syncDirectory(folder);
  for (const name of tombstones) {
    await unlinkIfThere(pathOf(folder, 'tombstone', name));
    await unlinkIfThere(pathOf(folder, 'move', name));
  }
}

/** Reads a folder. */
export async function readOldFolder(folder: string): Promise<OldFolder> {
  const handles = new Map<string, OldHandle>();
  const expiries: VersionName[] = [];
  const moving: VersionName[] = [];
  const ofHandle = (handle: string): OldHandle => {
    const key = handle.toLowerCase();
    const known = handles.get(key) ?? { current: undefined, expires: null, left: [], tombstones: [], parts: [] };
    handles.set(key, known);
    return known;
  };
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const file = parseOldName(entry.name);
    if (file === undefined) continue;
    const name = { handle: file.handle, version: file.version, isManifest: file.kind === 'manifest' };
    const hasRows = file.kind === 'frame' || file.kind === 'part';
    // A FIFO would block open().
    if (hasRows && !(await isRegular(entry, folder))) continue;
    if (file.kind === 'expiry') expiries.push(name);
    else if (file.kind === 'move') moving.push(name);
    else if (file.kind === 'tombstone') ofHandle(file.handle).tombstones.push(name);
    else if (file.kind === 'part') ofHandle(file.handle).parts.push(join(folder, entry.name));
    else addVersion(ofHandle(file.handle), name);
  }
  for (const known of handles.values()) applyTombstones(known);
  await applyMoves(folder, handles, moving);
  const orphans: VersionName[] = [];
  const ambiguous: VersionName[] = [];
  await forEachConcurrently(expiries, async (expiry) => {
    const known = handles.get(expiry.handle.toLowerCase());
    if (known?.current?.version !== expiry.version) {
      if (!known?.left.some(({ version }) => version === expiry.version)) orphans.push(expiry);
      return;
    }
    const expires = await readExpiry(pathOf(folder, 'expiry', expiry));
    if (expires === undefined) ambiguous.push(expiry);
    else known.expires = expires;
  });
  return { handles, orphans, ambiguous };
}

/** A move whose target is the current version there counts as a tombstone; any other was not completed, and does not count. */
async function applyMoves(
  folder: string,
  handles: ReadonlyMap<string, OldHandle>,
  moving: readonly VersionName[],
): Promise<void> {
  for (const name of moving) {
    const path = pathOf(folder, 'move', name);
    const target = moveTarget((await readSmallFile(path)) ?? '');
    const found = target && handles.get(target.handle.toLowerCase())?.current;
    const known = handles.get(name.handle.toLowerCase());
    if (found !== undefined && found.version === target?.version && known !== undefined) {
      known.tombstones.push(name);
      applyTombstones(known);
    } else {
      await unlinkIfThere(path);
    }
  }
}

function moveTarget(text: string): { readonly handle: string; readonly version: unknown } | undefined {
  const target = parseJson(text);
  const handle = target?.['handle'];
  return typeof handle === 'string' && isHandle(handle) ? { handle, version: target?.['version'] } : undefined;
}

function addVersion(known: OldHandle, version: VersionName): void {
  if (known.current === undefined || version.version > known.current.version) {
    if (known.current) known.left.push(known.current);
    known.current = version;
  } else {
    known.left.push(version);
  }
}

function applyTombstones(known: OldHandle): void {
  const { current } = known;
  if (current === undefined || !known.tombstones.some(({ version }) => version >= current.version)) return;
  known.left.push(current);
  known.current = undefined;
}

/** True for a regular file, or a symbolic link to one. */
async function isRegular(entry: Dirent, folder: string): Promise<boolean> {
  if (entry.isFile() || entry.isDirectory()) return entry.isFile();
  return (await stat(join(folder, entry.name)).catch(() => undefined))?.isFile() ?? false;
}

/** Returns the expiry of a version: null if it never expires, undefined if the expiry file is not valid. */
async function readExpiry(path: string): Promise<Date | null | undefined> {
  const text = await readSmallFile(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return '{"expires":null}';
    throw error;
  });
  const value = parseJson(text ?? '')?.['expires'];
  if (value === null) return null;
  const expires = new Date(typeof value === 'string' ? value : Number.NaN);
  return Number.isNaN(expires.getTime()) ? undefined : expires;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function parseJson(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
