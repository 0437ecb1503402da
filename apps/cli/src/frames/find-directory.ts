import { mkdir, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CliError } from '../errors/cli-error.ts';
import { errorCode } from '../errors/error-code.ts';

/** A directory of frames, as a server would be told of it. */
export interface FrameDirectory {
  /** `storage.parquet_path`. */
  readonly parquetPath: string;
  /** `storage.duckdb_path`, where there is such a file. */
  readonly duckdbPath?: string;
}

/** How a directory is looked for. */
export interface FindDirectoryOptions {
  /** What `~` stands for. */
  readonly homeDir: string;
  /** Makes it where it is not there. */
  readonly createIfMissing: boolean;
}

/** What `storage.data_dir` has in it. */
const COLD = 'cold';
const DATABASE = 'analytics.duckdb';

/**
 * Finds the frames in a directory: it is a `storage.data_dir`, with `cold` in it, or a `storage.parquet_path` itself. One
 * that is empty or not there becomes the former, if it is to be made.
 */
export async function findDirectory(
  name: string,
  { homeDir, createIfMissing }: FindDirectoryOptions,
): Promise<FrameDirectory> {
  const path = resolve(homeDir === '' ? name : name.replace(/^~(?=[\\/]|$)/, () => homeDir));
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

/** Not with the folders above it: a name that is mistyped is seen, and Node never ends trying to make some in /proc. */
async function makeDataDir(path: string, cold: string): Promise<void> {
  await mkdir(path).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
  });
  await mkdir(cold);
}

const REASONS: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOENT: ['there is no such directory', 'Check its name, and the folder you are in. svc put makes one.'],
  EROFS: ['it can only be read', 'Use a directory on another disk.'],
  ENOSPC: ['its disk is full', 'Make some space, or use a directory on another disk.'],
  ENOTDIR: ['it is not a directory', 'Name the directory of the frames; svc convert reads single files.'],
  EACCES: ['this user may not use it', 'Change its rights, or be another user.'],
  EPERM: ['this user may not use it', 'Change its rights, or be another user.'],
};

/** A failure of the operating system with a directory of frames, as the user is told of it; others stay what they are. */
export function directoryError(name: string, error: unknown): unknown {
  const code = errorCode(error);
  if (code === undefined) return error;
  const [reason, hint] = REASONS[code] ?? [code, 'Check that other programs can use it.'];
  return new CliError('usage', `The frames in ${JSON.stringify(name)} cannot be reached: ${reason}.`, {
    hint,
    cause: error,
  });
}

function refuse(name: string): (error: unknown) => never {
  return (error) => {
    throw directoryError(name, error);
  };
}
