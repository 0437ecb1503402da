import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Config } from '@svc/config';
import { errorCode } from '../errors/error-code.ts';
import type { Diagnosis } from './diagnosis.ts';

/** Checks that the server can read and write its data directories. */
export async function checkDirectories({ storage }: Config): Promise<readonly Diagnosis[]> {
  const paths = [
    { setting: 'storage.data_dir', path: storage.data_dir, isFile: false },
    { setting: 'storage.parquet_path', path: storage.parquet_path, isFile: false },
    { setting: 'storage.duckdb_path', path: storage.duckdb_path, isFile: true },
  ].flatMap(({ path, ...rest }) => (path === undefined ? [] : [{ ...rest, path }]));
  if (paths.length === 0)
    return [{ status: 'ok', text: 'No data directory is set: frames are lost when the server stops.' }];
  return Promise.all(paths.map(checkPath));
}

interface StoragePath {
  readonly setting: string;
  readonly path: string;
  readonly isFile: boolean;
}

async function checkPath({ setting, path, isFile }: StoragePath): Promise<Diagnosis> {
  const name = `${setting}, ${JSON.stringify(path)},`;
  const there = await stat(path).catch(codeOf);
  if (there === 'ENOENT') return checkParent(name, path);
  if (typeof there === 'string') return notAllowed(name, path);
  if (isFile ? !there.isFile() : !there.isDirectory()) {
    return {
      status: 'problem',
      text: `${name} is not a ${isFile ? 'file' : 'directory'}.`,
      advice: `Move it away, or set ${setting} to another path.`,
    };
  }
  return (await isWritable(path, isFile))
    ? { status: 'ok', text: `${name} can be read and written.` }
    : notAllowed(name, path);
}

/** Checks that the server can create a missing directory. */
async function checkParent(name: string, path: string): Promise<Diagnosis> {
  let parent = dirname(path);
  while (parent !== dirname(parent) && (await stat(parent).catch(codeOf)) === 'ENOENT') parent = dirname(parent);
  return (await isWritable(parent, false))
    ? { status: 'ok', text: `${name} does not exist yet and can be created.` }
    : {
        status: 'problem',
        text: `${name} does not exist, and this user cannot create it.`,
        advice: `Create it, or give this user permission to write to ${JSON.stringify(parent)}.`,
      };
}

function notAllowed(name: string, path: string): Diagnosis {
  return {
    status: 'problem',
    text: `${name} cannot be read and written by this user.`,
    advice: `Run the server as another user, or change the owner or the permissions of ${JSON.stringify(path)}.`,
  };
}

async function isWritable(path: string, isFile: boolean): Promise<boolean> {
  const rights = constants.R_OK | constants.W_OK | (isFile ? 0 : constants.X_OK);
  return (await access(path, rights).catch(codeOf)) === undefined;
}

function codeOf(error: unknown): string {
  return errorCode(error) ?? String(error);
}
