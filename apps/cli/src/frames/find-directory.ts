import { mkdir, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CliError, errorCode } from '../errors.ts';

/** A directory of frames, as the settings of a server. */
export interface FrameDirectory {
  /** `storage.parquet_path`. */
  readonly parquetPath: string;
  /** `storage.duckdb_path`, if the file exists. */
  readonly duckdbPath?: string;
}

/** The entries of a `storage.data_dir`. */
const COLD = 'cold';
const DATABASE = 'analytics.duckdb';

/**
 * Finds the frames in a directory: it is a `storage.data_dir`, with `cold` in it, or a `storage.parquet_path`. With
 * `createIfMissing`, an empty or missing directory becomes a `storage.data_dir`. A `~` stands for `homeDir`.
 */
export async function findDirectory(name: string, homeDir: string, createIfMissing = false): Promise<FrameDirectory> {
  const path = expandPath(name, homeDir);
  const names = await readdir(path).catch((error: unknown) => {
    const none: readonly string[] = [];
    if (createIfMissing && errorCode(error) === 'ENOENT') return none;
    throw directoryError(name, error);
  });
  const cold = join(path, COLD);
  if (createIfMissing && names.length === 0) await makeDataDir(path, cold).catch(refuse(name));
  const isDataDir = await stat(cold).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isDataDir) return { parquetPath: path };
  return { parquetPath: cold, ...(names.includes(DATABASE) && { duckdbPath: join(path, DATABASE) }) };
}

/** Returns the absolute path of a directory, with `~` expanded. */
export function expandPath(name: string, homeDir: string): string {
  return resolve(homeDir === '' ? name : name.replace(/^~(?=[\\/]|$)/, () => homeDir));
}

/** Not recursive: a mistyped name is an error, and a recursive mkdir in /proc never returns in Node. */
async function makeDataDir(path: string, cold: string): Promise<void> {
  await mkdir(path).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
  });
  await mkdir(cold);
}

const REASONS: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOENT: ['there is no such directory', 'Check the name and the current directory. svc put creates one.'],
  EROFS: ['it is read-only', 'Use a directory on another disk.'],
  ENOSPC: ['its disk is full', 'Free some space, or use a directory on another disk.'],
  EEXIST: ['it is not a directory', 'Name a directory that does not exist yet.'],
  ENOTDIR: ['it is not a directory', 'Name the directory of the frames; svc convert reads single files.'],
  EACCES: ['permission is denied', 'Change its permissions, or run svc as another user.'],
  EPERM: ['permission is denied', 'Change its permissions, or run svc as another user.'],
};

/** The name of `DirectoryFormatError`. Its class would load the engine. */
const FORMAT_ERROR = 'DirectoryFormatError';

/** Converts an error about a directory of frames to an error for the user; returns others unchanged. */
export function directoryError(name: string, error: unknown): unknown {
  return toCliError(error, () => `The frames in ${JSON.stringify(name)} cannot be opened`);
}

/** Converts an error of the system about a file or directory to an error for the user; returns others unchanged. */
export function fileError(error: unknown, what: string): unknown {
  return toCliError(error, ({ path }) => `${what} failed${path === undefined ? '' : ` at ${JSON.stringify(path)}`}`);
}

function toCliError(error: unknown, failed: (error: NodeJS.ErrnoException) => string): unknown {
  if (error instanceof Error && error.name === FORMAT_ERROR) {
    const hint = 'svc --version prints the version of this program.';
    return new CliError('refused', error.message, { hint, cause: error });
  }
  const code = errorCode(error);
  if (!(error instanceof Error) || code === undefined) return error;
  const [reason, hint] = REASONS[code] ?? [code, 'Check that other programs can use it.'];
  return new CliError('usage', `${failed(error)}: ${reason}.`, { hint, cause: error });
}

function refuse(name: string): (error: unknown) => never {
  return (error) => {
    throw directoryError(name, error);
  };
}
