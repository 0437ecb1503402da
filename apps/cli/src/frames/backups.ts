import { BackupError, type BackupIndex, type BackupReport, createBackup, restoreBackup } from '@svc/duckdb';
import type { Context } from '../args/command.ts';
import { CliError } from '../errors.ts';
import { expandPath, fileError, type FrameDirectory } from './find-directory.ts';

/** Copies the frames of a directory to a new one. */
export async function backUpDirectory(
  { parquetPath, duckdbPath }: FrameDirectory,
  destination: string,
  { homeDir, signal }: Pick<Context, 'homeDir' | 'signal'>,
): Promise<BackupReport> {
  try {
    return await createBackup({
      directory: parquetPath,
      ...(duckdbPath !== undefined && { duckdbPath }),
      destination: expandPath(destination, homeDir),
      name: destination,
      signal,
    });
  } catch (error) {
    throw backupError(error, 'The backup');
  }
}

/** Copies a backup to a new directory. */
export async function restoreDirectory(
  names: { readonly backup: string; readonly directory: string },
  { homeDir, signal }: Pick<Context, 'homeDir' | 'signal'>,
): Promise<BackupIndex> {
  const [backup, directory] = [expandPath(names.backup, homeDir), expandPath(names.directory, homeDir)];
  try {
    return await restoreBackup({ backup, directory, names, signal });
  } catch (error) {
    throw backupError(error, 'The restore');
  }
}

function backupError(error: unknown, what: string): unknown {
  if (error instanceof BackupError) return new CliError('refused', error.message, { hint: error.hint, cause: error });
  return fileError(error, what);
}
