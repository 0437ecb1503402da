import { randomUUID } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { type FileHandle, open, readlink, realpath, rename, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode } from '../errors/error-code.ts';
import { type Output, outputError } from './output.ts';

/** What writing needs of the process. */
export interface WriteOutputOptions {
  readonly stdout: Output;
  /** An unfinished file is removed when it is aborted. */
  readonly signal: AbortSignal;
}

/**
 * Lets `write` print to the standard output, or to a file where one is named. A file takes its name only when all of it
 * is there: one that was there before is untouched until then, and nothing is left of one that was broken off.
 */
export async function writeOutput(
  file: string | undefined,
  { stdout, signal }: WriteOutputOptions,
  write: (output: Output) => Promise<void>,
): Promise<void> {
  if (file === undefined) return write(stdout);
  const fail = (error: unknown): never => {
    throw outputError(error, JSON.stringify(file));
  };
  const path = await followLinks(file).catch(fail);
  const there = await stat(path).catch(() => undefined);
  // A device or a pipe is written to; to put a file in its place would be to destroy it.
  if (there !== undefined && !there.isFile()) {
    const handle = await open(path, 'w').catch(fail);
    try {
      return await write(fileOutput(handle, fail));
    } finally {
      await handle.close();
    }
  }
  const part = join(dirname(path), `.${basename(path)}.${randomUUID()}.part`);
  const handle = await open(part, 'wx', there?.mode).catch(fail);
  const discard = (): void => {
    try {
      unlinkSync(part);
    } catch {
      // It has its name already, or somebody else removed it.
    }
  };
  // Ctrl-C and SIGTERM end the process as soon as its listeners have run.
  signal.addEventListener('abort', discard, { once: true });
  try {
    try {
      await write(fileOutput(handle, fail));
      // Rights that the umask took away.
      if (there !== undefined) await handle.chmod(there.mode).catch(fail);
      await handle.sync().catch(fail);
    } finally {
      await handle.close();
    }
    await rename(part, path).catch(fail);
  } finally {
    signal.removeEventListener('abort', discard);
    discard();
  }
}

/** The file that a name leads to, also where it is not there yet: a link is never replaced. */
async function followLinks(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  const folder = await realpath(dirname(file));
  const target = await readlink(file).catch(() => undefined);
  return target === undefined ? join(folder, basename(file)) : followLinks(resolve(folder, target));
}

function fileOutput(handle: FileHandle, fail: (error: unknown) => never): Output {
  return { width: undefined, isStyled: false, write: (chunk) => handle.appendFile(chunk).catch(fail) };
}
