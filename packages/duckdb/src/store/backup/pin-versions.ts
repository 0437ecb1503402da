import { type FileHandle, stat } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { hasCode, openRegular, readSmallFile } from '@svc/objects/internal';
import { scanFolder, type ScannedHandle } from '../catalogue/scan-folder.ts';
import type { TenantFolder, VersionName } from '../catalogue/tenant-folder.ts';
import { BackupError } from './backup-error.ts';

/** A version of a frame whose files are open: another process may remove their names, but not their bytes. */
export interface PinnedVersion {
  readonly name: VersionName;
  readonly files: readonly PinnedFile[];
  /** The text of the expiry file, if there is one. */
  readonly expiry: string | undefined;
  /** The paths of files that the version lists but that do not exist. */
  readonly missing: readonly string[];
}

/** An open file. */
export interface PinnedFile {
  readonly path: string;
  readonly file: FileHandle;
}

/** The number of files that are open at once, or a few more: those of one version are pinned together. */
const MAX_OPEN_FILES = 256;

/** A frame that is replaced all the time may be gone whenever its folder has been listed. */
const MAX_ATTEMPTS = 500;

/**
 * Pins the current version of every frame in a folder that another process may be writing to, in groups; the caller closes
 * the files of a group before it asks for the next. Each handle is pinned once, at a version that was current at some
 * moment since the call, with the expiry that it had then. A frame that exists all the time is among them, also if it is
 * renamed; it may then be pinned under both handles.
 */
export async function* pinVersions(
  folder: TenantFolder,
  signal?: AbortSignal,
): AsyncGenerator<readonly PinnedVersion[], void> {
  /** Handles whose version was gone when its files were opened, and that version. Undefined before the first attempt. */
  let missed: ReadonlyMap<string, string> | undefined;
  const done = new Set<string>();
  const confirmed = async (group: readonly Pinned[], again: Map<string, string>): Promise<Pinned[]> => {
    const versions = await confirm(folder, group, again);
    for (const { key } of versions) done.add(key);
    return versions;
  };
  for (let attempt = 1; missed === undefined || missed.size > 0; attempt += 1) {
    const [rest] = missed?.keys() ?? [];
    if (attempt > MAX_ATTEMPTS) throw changesTooOften(rest ?? '');
    const handles = await scanTwice(folder);
    const again = new Map<string, string>();
    let group: Pinned[] = [];
    try {
      for (const [key, scanned] of handles) {
        signal?.throwIfAborted();
        const { current } = scanned;
        // A later attempt also takes handles that were not there before: a version may be gone because it was renamed.
        if (current === undefined || done.has(key)) continue;
        const isMissing = missed?.get(key) === current.version;
        const pinned = await pin(folder, current, { scanned, isMissing });
        if (pinned === undefined) again.set(key, current.version);
        else group.push({ key, ...pinned });
        if (group.reduce((count, { files }) => count + files.length, 0) < MAX_OPEN_FILES) continue;
        yield await confirmed(group, again);
        group = [];
      }
      if (group.length > 0) yield await confirmed(group, again);
    } finally {
      // After a failure the caller does not get the group. To close a file again does nothing.
      await Promise.all(group.map(closeFiles));
    }
    missed = again;
  }
}

interface Pinned extends PinnedVersion {
  readonly key: string;
}

/**
 * Returns the newest state of each handle in two scans. A single listing may lack a frame that is replaced meanwhile: it has
 * passed the name of the new version before that appears, and gets to the name of the old one after that is removed.
 */
async function scanTwice(folder: TenantFolder): Promise<ReadonlyMap<string, ScannedHandle>> {
  const { handles: first } = await scanFolder(folder);
  const { handles: second } = await scanFolder(folder);
  const newest = new Map(first);
  for (const [key, scanned] of second) {
    if (scanned.floor >= (first.get(key)?.floor ?? '')) newest.set(key, scanned);
  }
  return newest;
}

/**
 * Opens the files of a version. Undefined if one does not exist, unless `isMissing`: a version that is still current after
 * one of its files was not found has lost that file.
 */
async function pin(
  folder: TenantFolder,
  name: VersionName,
  { scanned, isMissing }: { readonly scanned: ScannedHandle; readonly isMissing: boolean },
): Promise<PinnedVersion | undefined> {
  const paths = await pathsOfVersion(folder, name, scanned);
  if (paths === undefined) return undefined;
  const files: PinnedFile[] = [];
  const missing: string[] = [];
  try {
    for (const path of paths) {
      const file = await openRegular(path);
      if (file) files.push({ path, file });
      else missing.push(path);
    }
    if (missing.length === 0 || isMissing)
      return { name, files, missing, expiry: await readText(folder.expiryPath(name)) };
  } catch (error) {
    await closeFiles({ files });
    throw error;
  }
  await closeFiles({ files });
  return undefined;
}

/** Closes the files of a version. */
export async function closeFiles({ files }: Pick<PinnedVersion, 'files'>): Promise<void> {
  await Promise.all(files.map(({ file }) => file.close()));
}

/** Returns the paths of all files of a version, or undefined if its manifest is gone. */
async function pathsOfVersion(
  folder: TenantFolder,
  name: VersionName,
  { left, parts }: ScannedHandle,
): Promise<readonly string[] | undefined> {
  const own = folder.framePath(name);
  if (!name.isManifest) return [own];
  try {
    const manifest = await folder.readManifest(name);
    return [own, ...manifest.parts.map(({ path }) => path)];
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (!(error instanceof ServiceError)) throw error;
    // A damaged manifest may list any of the files of its handle.
    return [own, ...parts, ...left.map((version) => folder.framePath(version))];
  }
}

/**
 * Returns the versions of a group whose expiry is known, and adds the others to `again`. A version has no expiry file if it
 * does not expire, but also if it was replaced and removed while it was pinned.
 */
async function confirm(folder: TenantFolder, group: readonly Pinned[], again: Map<string, string>): Promise<Pinned[]> {
  const isUnclear = group.some(({ name, expiry }) => expiry === undefined && !name.isManifest);
  const { handles } = isUnclear ? await scanFolder(folder) : { handles: undefined };
  const confirmed: Pinned[] = [];
  for (const pinned of group) {
    const { key, name, expiry } = pinned;
    const isCurrent = (): boolean => handles?.get(key)?.current?.version === name.version;
    // A manifest belongs to one version, and is removed before the expiry of that version. A file with rows may go on as a
    // part of later versions.
    const isKnown = expiry !== undefined || (name.isManifest ? await isThere(folder.framePath(name)) : isCurrent());
    if (isKnown) {
      confirmed.push(pinned);
    } else {
      await closeFiles(pinned);
      again.set(key, '');
    }
  }
  return confirmed;
}

async function readText(path: string): Promise<string | undefined> {
  return readSmallFile(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function changesTooOften(key: string): BackupError {
  return new BackupError(`The frame ${JSON.stringify(key)} is replaced faster than it can be copied.`, {
    hint: 'Try again when there are fewer writes, or use a snapshot of the file system.',
  });
}
