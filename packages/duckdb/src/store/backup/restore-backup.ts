import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { copyFlushed, hasCode, openRegular, syncDirectory } from '@svc/objects/internal';
import { DirectoryInUseError, lockDirectory } from '../../disk/directory-lock.ts';
import { checkFormat } from '../catalogue/directory-format.ts';
import { forEachConcurrently } from '../catalogue/tenant-folder.ts';
import { BackupError } from './backup-error.ts';
import { type BackupIndex, damagedBackup, DATABASE_NAMES, FRAMES_FOLDER, readIndex } from './backup-index.ts';

/** Options of `restoreBackup`. */
export interface RestoreOptions {
  /** The directory that `createBackup` wrote. */
  readonly backup: string;
  /** The directory that gets the frames, a `storage.data_dir`. It is created; if it exists, it must be empty. */
  readonly directory: string;
  /** Both as the user wrote them. Default: the paths. */
  readonly names?: { readonly backup: string; readonly directory: string };
  readonly signal?: AbortSignal;
}

/** Files are copied to a folder of this prefix, where no server looks for frames. */
const UNFINISHED_PREFIX = '.restore-';

/** What an empty directory may have: the folder of a new file system, and what interrupted restores left. */
const isIgnored = (entry: string): boolean => entry === 'lost+found' || /^(?:\.new)?\.(?:restore|lock)-/.test(entry);

/**
 * Copies a backup to an empty directory and verifies each file. The frames appear in one step, after all of them are
 * durable; a failure leaves the directory empty. Nothing is ever overwritten.
 */
export async function restoreBackup(options: RestoreOptions): Promise<BackupIndex> {
  const { backup, directory, names = { backup, directory }, signal } = options;
  const index = await readIndex(backup, names.backup);
  await checkFormat(join(backup, FRAMES_FOLDER));
  // Only the user may read it: it has the frames of all tenants.
  const isNew = await mkdir(directory, { mode: 0o700 }).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, 'EEXIST')) return false;
      throw error;
    },
  );
  try {
    await checkEmpty(directory, names.directory);
    const lock = await lockDirectory(directory);
    try {
      // Now that no other restore can be at work here.
      await checkEmpty(directory, names.directory);
      await restoreFiles(index, { backup, directory, names, signal });
    } finally {
      await lock.release();
    }
  } catch (error) {
    if (isNew) await rmdir(directory).catch(() => {});
    throw error instanceof DirectoryInUseError ? restoredBy(error, names.directory) : error;
  }
  await syncDirectory(dirname(directory));
  return index;
}

interface Restoration {
  readonly backup: string;
  readonly directory: string;
  readonly names: { readonly backup: string; readonly directory: string };
  readonly signal: AbortSignal | undefined;
}

async function checkEmpty(directory: string, name: string): Promise<void> {
  const entries = await readdir(directory);
  if (entries.every(isIgnored)) return;
  throw notEmpty(name);
}

function notEmpty(name: string): BackupError {
  return new BackupError(`${JSON.stringify(name)} is not empty.`, {
    hint: 'Name a directory that does not exist yet. A restore overwrites nothing.',
  });
}

function restoredBy({ holder }: DirectoryInUseError, name: string): BackupError {
  return new BackupError(`The process ${holder.pid} is restoring a backup to ${JSON.stringify(name)}.`, {
    hint: 'Wait for it, or name another directory.',
  });
}

async function restoreFiles(index: BackupIndex, { backup, directory, names, signal }: Restoration): Promise<void> {
  for (const entry of await readdir(directory)) {
    if (entry.startsWith(UNFINISHED_PREFIX)) await rm(join(directory, entry), { recursive: true });
  }
  const unfinished = join(directory, `${UNFINISHED_PREFIX}${randomBytes(12).toString('hex')}`);
  await mkdir(unfinished);
  try {
    const folders = new Set([FRAMES_FOLDER, ...index.files.flatMap(({ path }) => foldersOf(path))]);
    for (const folder of [...folders].toSorted()) await mkdir(join(unfinished, folder));
    await forEachConcurrently(index.files, async ({ path, bytes, sha256 }) => {
      const file = await openRegular(join(backup, path));
      if (file === undefined) throw missingFile(names.backup, path);
      try {
        const copied = await copyFlushed(file, join(unfinished, path), signal);
        if (copied.bytes !== bytes || copied.sha256 !== sha256) throw damagedBackup(names.backup, path);
      } finally {
        await file.close();
      }
    });
    for (const folder of folders) await syncDirectory(join(unfinished, folder));
    signal?.throwIfAborted();
    await publish(unfinished, index, { directory, name: names.directory });
  } finally {
    await rm(unfinished, { recursive: true, force: true }).catch(() => {});
  }
  await syncDirectory(directory);
}

/** The folders that a file of a backup is in. */
function foldersOf(path: string): readonly string[] {
  const folder = dirname(path);
  return folder === '.' ? [] : [...foldersOf(folder), folder];
}

/** Moves the restored files to their places, the frames last: a server that finds those finds the database, too. */
async function publish(
  unfinished: string,
  { files }: BackupIndex,
  { directory, name }: { readonly directory: string; readonly name: string },
): Promise<void> {
  await checkEmpty(directory, name);
  for (const database of DATABASE_NAMES) {
    if (files.some(({ path }) => path === database))
      await rename(join(unfinished, database), join(directory, database));
  }
  await syncDirectory(directory);
  try {
    // This fails if a server has made the folder meanwhile and put something there.
    await rename(join(unfinished, FRAMES_FOLDER), join(directory, FRAMES_FOLDER));
  } catch (error) {
    for (const database of DATABASE_NAMES) await rm(join(directory, database), { force: true });
    throw hasCode(error, 'ENOTEMPTY', 'EEXIST') ? notEmpty(name) : error;
  }
}

function missingFile(name: string, path: string): BackupError {
  return new BackupError(
    `The backup ${JSON.stringify(name)} is damaged: ${JSON.stringify(path)} is missing, or is not a regular file.`,
    { hint: 'Nothing was restored. Use another backup.' },
  );
}
