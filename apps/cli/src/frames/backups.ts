import { BackupError, type BackupIndex, type BackupReport, createBackup, restoreBackup } from '@svc/duckdb';
import { CliError } from '../errors/cli-error.ts';
import { expandPath, fileError, type FrameDirectory } from './find-directory.ts';

interface BackupOptions {
  /** The directory of the backup, as the user wrote it. */
  readonly destination: string;
  readonly homeDir: string;
  readonly signal: AbortSignal;
}

/** Copies the frames of a directory to a new one. */
export async function backUpDirectory(
  { parquetPath, duckdbPath }: FrameDirectory,
  { destination, homeDir, signal }: BackupOptions,
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
  { homeDir, signal }: Pick<BackupOptions, 'homeDir' | 'signal'>,
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
