import { randomUUID } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { type FileHandle, open, readlink, realpath, rename, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode } from '../errors/error-code.ts';
import { type Output, outputError } from './output.ts';

/** The output and signal of the process. */
export interface WriteOutputOptions {
  readonly stdout: Output;
  /** Removes an incomplete file when aborted. */
  readonly signal: AbortSignal;
}

/**
 * Calls `write` with standard output, or with a file if one is named. The file appears under its name only when it is
 * complete: an existing file is untouched until then, and an interrupted write leaves nothing behind.
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
  // A device or a pipe is written to directly: a rename would replace it.
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
      // Already renamed, or removed by another process.
    }
  };
  // Ctrl-C and SIGTERM end the process as soon as the listeners have run.
  signal.addEventListener('abort', discard, { once: true });
  try {
    try {
      await write(fileOutput(handle, fail));
      // Restores permissions that the umask removed.
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

/** Resolves links, also to a file that does not exist yet: a link is never replaced. */
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
  return { width: undefined, isStyled: false, isFile: true, write: (chunk) => handle.appendFile(chunk).catch(fail) };
}
