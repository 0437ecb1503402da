import { randomBytes } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { readdir, rename, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Handle } from '@svc/frames';
import {
  createDirectorySync,
  hasCode,
  makeDirectory,
  readSmallFile,
  unlinkIfThere,
  writeWhole,
} from '@svc/objects/internal';
import { type FileName, frameFileName, type OwnKind, parseFileName, unfinishedFileName } from './frame-names.ts';
import { decodeManifest, encodeManifest, type Manifest } from './manifest.ts';
import { finishMove, type MovePaths, type MoveSteps, type MoveTarget, moveVersion, readMove } from './move-version.ts';
import { type AddedPart, publishManifest } from './publish-manifest.ts';
import { writeTombstone } from './tombstone.ts';

/** The name of a version of a frame. */
export interface VersionName {
  readonly handle: Handle;
  readonly version: string;
  /** Whether the version is a manifest. */
  readonly isManifest: boolean;
}

/**
 * The folder of one tenant. Each operation on its files is atomic and flushed before the next, so that the process can die
 * at any moment.
 */
export interface TenantFolder {
  readonly path: string;
  /** Creates the folder if it does not exist. */
  prepare(): Promise<void>;
  /** Lists the folder and parses the names of its files. */
  scan(): Promise<readonly ParsedFile[]>;
  /** Returns the path for an unpublished file, which the next start sweeps. */
  unfinishedPath(): string;
  /** The path of the file that makes a version: its rows, or its manifest. */
  framePath(name: VersionName): string;
  /** The path of a part that is added with a version. */
  partPath(name: Omit<VersionName, 'isManifest'>): string;
  /** The path of the file with the expiry of a version. */
  expiryPath(name: VersionName): string;
  /** Publishes a flushed file as a version of a frame, with its expiry. */
  publish(unfinishedPath: string, name: VersionName, expires: Date | null): Promise<void>;
  /** Publishes a manifest as a version of a frame, after the flushed files that it lists and that are not parts yet. */
  publishManifest(
    added: readonly AddedPart[],
    manifest: Manifest,
    name: VersionName,
    expires: Date | null,
  ): Promise<void>;
  /** Reads the manifest of a version. A damaged one is `invalid_data`. */
  readManifest(name: VersionName): Promise<Manifest>;
  /** Changes when a version expires. */
  writeExpiry(name: VersionName, expires: Date | null): Promise<void>;
  /** Returns the expiry of a version: null if it never expires, undefined if the expiry file is not valid. */
  readExpiry(name: VersionName): Promise<Date | null | undefined>;
  /** Marks a version and all before it as dropped. `isFree`: the version has no readers. */
  writeTombstone(name: VersionName, isFree: boolean): Promise<void>;
  /** Publishes a version under another handle and drops the one it came from, both or neither. */
  move(from: VersionName, to: MoveTarget, steps: Omit<MoveSteps, 'sync'>): Promise<void>;
  /** Returns where a version goes that is being moved. Undefined if it is not known. */
  readMove(name: VersionName): Promise<MoveTarget | undefined>;
  /** Completes a move whose target is published, or forgets one whose target is not. */
  settleMove(name: VersionName, isPublished: boolean): Promise<void>;
  /** Removes files and the expiries of versions, flushes, then removes tombstones that are no longer needed. */
  remove(paths: readonly string[], versions: readonly VersionName[], tombstones: readonly VersionName[]): Promise<void>;
  /** Removes a file that was never published. */
  discard(path: string): Promise<void>;
}

/** A file of a folder with its parsed name. */
export interface ParsedFile {
  readonly path: string;
  readonly file: FileName;
}

/** The folder at `path`. */
export function createTenantFolder(path: string): TenantFolder {
  const sync = createDirectorySync(path);
  const pathOf = (kind: OwnKind, { handle, version }: Omit<VersionName, 'isManifest'>): string =>
    join(path, frameFileName(kind, handle, version));
  const framePath = (name: VersionName): string => pathOf(name.isManifest ? 'manifest' : 'frame', name);
  const unfinishedPath = (): string => join(path, unfinishedFileName(randomBytes(12).toString('hex')));

  const movePaths = (name: VersionName): Omit<MovePaths, 'unfinished'> => ({
    move: pathOf('move', name),
    tombstone: pathOf('tombstone', name),
  });

  async function writeExpiry(name: VersionName, expires: Date | null): Promise<void> {
    const expiry = pathOf('expiry', name);
    if (expires === null) await unlinkIfThere(expiry);
    else await writeWhole(path, basename(expiry), basename(unfinishedPath()), JSON.stringify({ expires }));
    await sync();
  }

  return {
    path,
    prepare: () => makeDirectory(path),
    scan: () => scanFiles(path),
    unfinishedPath,
    framePath,
    partPath: (name) => pathOf('part', name),
    expiryPath: (name) => pathOf('expiry', name),
    async publish(unfinished, name, expires) {
      const frame = framePath(name);
      try {
        // Write and flush the expiry first: without it, a frame would never expire.
        if (expires !== null) await writeExpiry(name, expires);
        await rename(unfinished, frame);
        await sync();
      } catch (error) {
        await Promise.allSettled([unlinkIfThere(frame), unlinkIfThere(pathOf('expiry', name))]);
        throw error;
      }
    },
    async publishManifest(added, manifest, name, expires) {
      const paths = { manifest: framePath(name), unfinished: unfinishedPath(), expiry: pathOf('expiry', name) };
      const early = expires === null ? [] : [writeExpiry(name, expires)];
      await publishManifest(paths, encodeManifest(manifest), added, { early, sync });
    },
    async readManifest(name) {
      const text = await readSmallFile(framePath(name), MAX_MANIFEST_BYTES);
      return decodeManifest(text ?? '', path, name.handle);
    },
    writeExpiry,
    readExpiry: (name) => readExpiry(pathOf('expiry', name)),
    writeTombstone: (name, isFree) =>
      writeTombstone(pathOf('tombstone', name), isFree ? framePath(name) : undefined, sync),
    move: (from, to, steps) =>
      moveVersion({ ...movePaths(from), unfinished: unfinishedPath() }, to, { ...steps, sync }),
    readMove: (name) => readMove(pathOf('move', name)),
    settleMove: (name, isPublished) =>
      isPublished ? finishMove(movePaths(name), sync) : unlinkIfThere(pathOf('move', name)),
    async remove(paths, versions, tombstones) {
      await forEachConcurrently(paths, unlinkIfThere);
      // In this order: a backup of another process that finds no expiry must be sure that the version had none.
      await forEachConcurrently(versions, (name) => unlinkIfThere(pathOf('expiry', name)));
      if (tombstones.length === 0) return;
      // If a tombstone vanished before the versions it hides, they would reappear.
      await sync();
      await forEachConcurrently(tombstones, (name) => unlinkIfThere(pathOf('tombstone', name)));
    },
    discard: unlinkIfThere,
  };
}

/** Lists a folder and parses the names of its files. A folder that does not exist is empty. */
async function scanFiles(path: string): Promise<readonly ParsedFile[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  });
  const files: ParsedFile[] = [];
  await forEachConcurrently(entries, async (entry) => {
    const file = parseFileName(entry.name);
    // A FIFO would block open() and a directory is no frame. Tombstones count by name alone; manifests and expiry
    // files are read with a size limit.
    const hasRows = file.kind === 'frame' || file.kind === 'part' || file.kind === 'unfinished';
    if (!hasRows || (await isRegular(entry, path))) files.push({ path: join(path, entry.name), file });
  });
  return files;
}

/**
 * A manifest lists a few hundred parts at most. The names and metadata of its schema have up to 64 MiB, and more in
 * base64.
 */
const MAX_MANIFEST_BYTES = 128 * 1024 * 1024;

/** Whether an entry is a regular file, or a symbolic link to one. */
async function isRegular(entry: Dirent, folder: string): Promise<boolean> {
  if (entry.isFile()) return true;
  // Some file systems do not report the kind of an entry.
  const isOther = entry.isDirectory() || entry.isFIFO() || entry.isSocket() || entry.isCharacterDevice();
  return !isOther && ((await stat(join(folder, entry.name)).catch(() => undefined))?.isFile() ?? false);
}

async function readExpiry(path: string): Promise<Date | null | undefined> {
  const text = await readSmallFile(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return '{"expires":null}';
    throw error;
  });
  return parseExpiry(text ?? '');
}

function parseExpiry(text: string): Date | null | undefined {
  try {
    const expiry: unknown = JSON.parse(text);
    const value = typeof expiry === 'object' && expiry !== null && 'expires' in expiry ? expiry.expires : undefined;
    if (value === null) return null;
    const expires = new Date(typeof value === 'string' ? value : Number.NaN);
    return Number.isNaN(expires.getTime()) ? undefined : expires;
  } catch {
    return undefined;
  }
}

/** The number of concurrent file operations: more would only wait for the same few threads. */
const AT_ONCE = 16;

/** Calls `work` for each item, with bounded concurrency. */
export async function forEachConcurrently<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
}
