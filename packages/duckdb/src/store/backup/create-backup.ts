import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, readdir, realpath, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import {
  type CopiedFile,
  copyFlushed,
  hasCode,
  makeDirectory,
  openRegular,
  syncDirectory,
  writeFlushed,
  writeWhole,
} from '@svc/objects/internal';
import { versionOfFile } from '../../wire/file-layout.ts';
import { checkFormat, FORMAT_NAME } from '../catalogue/directory-format.ts';
import { listTenant } from '../catalogue/frame-folders.ts';
import { findNotTakenOver } from '../catalogue/format-1/take-over.ts';
import { parseFileName, tenantOfFolder } from '../catalogue/frame-names.ts';
import { createTenantSlots, type TenantSlots } from '../catalogue/frame-slots.ts';
import { forEachConcurrently } from '../catalogue/tenant-folder.ts';
import { FRAME_CODEC } from '../log/frame-entry.ts';
import { entryName } from '../log/frame-log.ts';
import { BackupError } from './backup-error.ts';
import { type BackupFile, DATABASE_NAMES, encodeIndex, FRAMES_FOLDER, INDEX_NAME } from './backup-index.ts';
import { closeFiles, type PinnedFrame, pinFrames } from './pin-frames.ts';

/** Options of `createBackup`. */
export interface BackupOptions {
  /** The directory of the frames. A server may hold it and write to it. */
  readonly directory: string;
  /** The database whose tables are frames, too. Default: none. */
  readonly duckdbPath?: string;
  /** The directory of the backup. It is created; if it exists, it must be empty. */
  readonly destination: string;
  /** The destination as the user wrote it. Default: `destination`. */
  readonly name?: string;
  readonly signal?: AbortSignal;
}

/** What a backup holds. */
export interface BackupReport {
  /** The number of frames that were put; not of foreign ones. */
  readonly frames: number;
  /** The number of foreign files. */
  readonly foreign: number;
  readonly files: number;
  readonly bytes: number;
  /** A sentence for each file that is not in the backup, or not whole. */
  readonly problems: readonly string[];
}

/**
 * Copies all frames of a directory, which may change meanwhile. Each frame is in the backup as it was at some moment since
 * the call. The backup is complete when its index exists; a failure leaves no files.
 */
export async function createBackup(options: BackupOptions): Promise<BackupReport> {
  const { directory, destination, name = destination, signal } = options;
  await checkFormat(directory);
  const isNew = await makeEmpty(destination, { directory, name });
  try {
    const created = new Date();
    const backup: Backup = { directory, root: destination, files: [], problems: [], signal };
    const frames = await copyFrames(backup, directory);
    if (options.duckdbPath !== undefined) await copyDatabase(backup, options.duckdbPath);
    const { files, problems } = backup;
    // A server marks its directory, even if it has no frames yet.
    if (files.length === 0 && problems.length === 0) throw noFrames(directory);
    const text = encodeIndex({ created, frames, files });
    signal?.throwIfAborted();
    await writeWhole(destination, INDEX_NAME, `.tmp-${INDEX_NAME}`, text);
    await syncDirectory(destination);
    await syncDirectory(dirname(destination));
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    return { frames, foreign: files.filter(isForeignFile).length, files: files.length, bytes, problems };
  } catch (error) {
    for (const entry of [FRAMES_FOLDER, ...DATABASE_NAMES, INDEX_NAME]) {
      await rm(join(destination, entry), { recursive: true, force: true }).catch(() => {});
    }
    if (isNew) await rmdir(destination).catch(() => {});
    throw error;
  }
}

/** Files of frames lie deeper. */
function isForeignFile({ path }: BackupFile): boolean {
  return path.split('/').length <= 3 && parseFileName(basename(path)).kind === 'foreign';
}

function noFrames(directory: string): BackupError {
  return new BackupError(`${JSON.stringify(directory)} has no frames, and no server has used it.`, {
    hint: 'Name the storage.data_dir or the storage.parquet_path of the server.',
  });
}

interface Backup {
  /** The directory of the frames. */
  readonly directory: string;
  readonly root: string;
  readonly files: BackupFile[];
  readonly problems: string[];
  readonly signal: AbortSignal | undefined;
}

/** A new file system has this folder. */
const LOST_FOUND = 'lost+found';

/** Returns whether the directory was created. */
async function makeEmpty(
  destination: string,
  { directory, name }: { readonly directory: string; readonly name: string },
): Promise<boolean> {
  // Only the user may read it: it has the frames of all tenants.
  const isNew = await mkdir(destination, { mode: 0o700 }).then(
    () => true,
    async (error: unknown) => {
      if (await isFolder(destination)) return false;
      throw error;
    },
  );
  const inside = relative(await realpath(directory), await realpath(destination));
  const isInside = inside === '' || (inside !== '..' && !inside.startsWith(`..${sep}`));
  if (isInside || (await readdir(destination)).some((entry) => entry !== LOST_FOUND)) {
    if (isNew) await rmdir(destination);
    const why = isInside ? 'is inside of the directory of the frames' : 'is not empty';
    throw new BackupError(`${JSON.stringify(name)} ${why}.`, {
      hint: 'Name a directory that does not exist yet. A backup is never changed or overwritten.',
    });
  }
  return isNew;
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Copies the folders of all tenants, and foreign files. Returns the number of frames that were put. */
async function copyFrames(backup: Backup, directory: string): Promise<number> {
  await mkdir(join(backup.root, FRAMES_FOLDER));
  let frames = 0;
  for (const entry of await readdir(directory)) {
    const path = join(directory, entry);
    const isForeign = parseFileName(entry).kind === 'foreign';
    if (isForeign || entry === FORMAT_NAME) await copyForeign(backup, path, `${FRAMES_FOLDER}/${entry}`);
    const tenant = tenantOfFolder(entry);
    if (tenant !== undefined && (await isFolder(path))) {
      frames += await copyTenant(backup, createTenantSlots(directory, tenant), `${FRAMES_FOLDER}/${entry}`);
    }
  }
  await syncDirectory(join(backup.root, FRAMES_FOLDER));
  return frames;
}

async function copyTenant(backup: Backup, tenant: TenantSlots, to: string): Promise<number> {
  const { path } = tenant;
  if ((await listTenant(path)).isOld) {
    await findNotTakenOver(backup.directory, tenant);
    for (const handle of tenant.notTakenOver.keys()) {
      backup.problems.push(`The frame ${JSON.stringify(handle)} is not in the backup: it could not be taken over.`);
    }
  }
  await mkdir(join(backup.root, to));
  let frames = 0;
  for await (const group of pinFrames(tenant, backup.signal)) {
    try {
      for (const frame of group) await copyFrame(backup, frame, to);
      frames += group.filter(({ problem }) => problem === undefined).length;
    } finally {
      await Promise.all(group.map(closeFiles));
    }
  }
  for (const entry of await readdir(path)) {
    if (parseFileName(entry).kind === 'foreign') await copyForeign(backup, join(path, entry), `${to}/${entry}`);
  }
  await syncDirectory(join(backup.root, to));
  return frames;
}

async function copyFrame(backup: Backup, { handle, files, missing, problem }: PinnedFrame, to: string): Promise<void> {
  if (problem !== undefined)
    backup.problems.push(`The frame ${JSON.stringify(handle)} is not in the backup. ${problem}`);
  const folders = new Set(files.map(({ name }) => dirname(join(backup.root, to, name))));
  for (const folder of folders) await makeDirectory(folder);
  await forEachConcurrently(files, async ({ name, file, isEntry }) => {
    const target = `${to}/${isEntry ? join(dirname(name), entryName(0)) : name}`;
    const copy = isEntry ? copyEntry : copyFlushed;
    const copied = await copy(file, join(backup.root, target), backup.signal);
    backup.files.push({ path: target, ...copied });
  });
  for (const folder of folders) await syncDirectory(folder);
  for (const path of missing) {
    backup.problems.push(`The frame ${JSON.stringify(handle)} is damaged: ${JSON.stringify(path)} is missing.`);
  }
}

/** Copies the newest entry of a log as the first of a new one, with all of the table: other programs find no entries before. */
async function copyEntry(file: FileHandle, path: string): Promise<CopiedFile> {
  const bytes = FRAME_CODEC.encode(FRAME_CODEC.decode(await file.readFile()), undefined);
  await writeFlushed(path, bytes);
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** Copies a database and its write-ahead log. A checkpoint moves rows from the log to the database: both are of one moment. */
async function copyDatabase(backup: Backup, path: string): Promise<void> {
  const [database, log] = DATABASE_NAMES;
  const files = [
    { from: path, to: database },
    { from: `${path}.wal`, to: log },
  ];
  if (await copyUnchanged(backup, files)) return;
  backup.problems.push(
    `${JSON.stringify(path)} is not in the backup: another program changed it, or its write-ahead log, while it was copied.`,
  );
}

/** Copies a file that the store did not write, if it exists. One that changes meanwhile is a problem. */
async function copyForeign(backup: Backup, from: string, to: string): Promise<void> {
  if (await copyUnchanged(backup, [{ from, to }])) return;
  backup.problems.push(`${JSON.stringify(from)} is not in the backup: another program changed it while it was copied.`);
}

/** Other programs may change a foreign file in place. */
const FOREIGN_ATTEMPTS = 3;

/** Copies those of the files that exist, at a time when none of them changes. Returns whether there was one. */
async function copyUnchanged(
  backup: Backup,
  files: readonly { readonly from: string; readonly to: string }[],
): Promise<boolean> {
  const versions = async (): Promise<string> =>
    JSON.stringify(await Promise.all(files.map(async ({ from }) => versionAt(from))));
  for (let attempt = 1; attempt <= FOREIGN_ATTEMPTS; attempt += 1) {
    const before = await versions();
    const copies: BackupFile[] = [];
    for (const { from, to } of files) {
      const copied = await copyRegular(from, join(backup.root, to), backup.signal);
      if (copied !== undefined) copies.push({ path: to, ...copied });
    }
    if ((await versions()) === before) {
      backup.files.push(...copies);
      return true;
    }
    for (const { path } of copies) await rm(join(backup.root, path));
  }
  return false;
}

/** Identifies the contents of a regular file. Null if there is none. */
async function versionAt(path: string): Promise<string | null> {
  return stat(path, { bigint: true }).then(
    (found) => (found.isFile() ? versionOfFile(found) : null),
    (error: unknown) => {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null;
      throw error;
    },
  );
}

/** Copies a regular file, if it exists. */
async function copyRegular(from: string, to: string, signal?: AbortSignal): Promise<CopiedFile | undefined> {
  const file = await openRegular(from);
  try {
    return file && (await copyFlushed(file, to, signal));
  } finally {
    await file?.close();
  }
}
