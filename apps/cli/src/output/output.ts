import { randomUUID } from 'node:crypto';
import { fstatSync, unlinkSync } from 'node:fs';
import { type FileHandle, open, readlink, realpath, rename, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { CliError, errorCode, OutputClosedError } from '../errors.ts';
import { visibleText } from '../text.ts';

const DEFAULT_WIDTH = 80;

/** A destination of text. */
export interface Output {
  /** Columns of the terminal; undefined if it is not a terminal, and lines are not limited. */
  readonly width: number | undefined;
  /** It supports colours. */
  readonly isStyled: boolean;
  /** It is a file, and not a terminal or a pipe. Default: no. */
  readonly isFile?: boolean;
  /** Resolves when the stream has accepted the bytes: backpressure for the writer. */
  write(chunk: string | Uint8Array): Promise<void>;
}

/** What an output needs of `process.stdout`. */
export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly fd?: number;
  hasColors?(): boolean;
}

/** Creates the output of a stream. */
export function createOutput(stream: OutputStream): Output {
  const isTerminal = stream.isTTY === true;
  // The callback of each write reports errors; without a listener the same error would end the process.
  stream.on('error', () => {});
  return {
    // Read each time, because a window may be resized; some terminals report 0 columns if they do not know.
    get width() {
      return isTerminal ? stream.columns || DEFAULT_WIDTH : undefined;
    },
    isStyled: isTerminal && stream.hasColors?.() === true,
    isFile: stream.fd !== undefined && isRegularFile(stream.fd),
    write: (chunk) =>
      new Promise((accept, reject) => {
        stream.write(chunk, (error) => (error ? reject(outputError(error, 'The output')) : accept()));
      }),
  };
}

function isRegularFile(fd: number): boolean {
  try {
    // After a plain stat of a pipe, Node does not follow some links when it resolves imports. `bigint` avoids that.
    return fstatSync(fd, { bigint: true }).isFile();
  } catch {
    // Closed by the parent process.
    return false;
  }
}

const REASONS: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOSPC: ['no space is left', 'Free some space, or write to another disk.'],
  EDQUOT: ['no space is left', 'Free some space, or write to another disk.'],
  ENOENT: ['there is no such folder', 'Create the folder, or check its name.'],
  ENOTDIR: ['there is no such folder', 'Create the folder, or check its name.'],
  EACCES: ['permission is denied', 'Write to another folder, or change the permissions of this one.'],
  EPERM: ['permission is denied', 'Write to another folder, or change the permissions of this one.'],
  EROFS: ['the disk is read-only', 'Write to another disk.'],
  EISDIR: ['it is a directory', 'Name a file.'],
  ELOOP: ['its symbolic links form a loop', 'Remove the link, or name another file.'],
};
const OTHER_HINT = 'Check that other programs can write there, or write elsewhere.';

/** Converts a failed write to an error for the user; `name` begins the sentence. */
function outputError(error: unknown, name: string): unknown {
  const code = errorCode(error);
  if (code === undefined) return error;
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return new OutputClosedError();
  const [reason, hint] = REASONS[code] ?? [code, OTHER_HINT];
  return new CliError('usage', `${name} cannot be written: ${reason}.`, { hint, cause: error });
}

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
      // Restores permissions after the umask.
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

/** Prints an error: the message, its details, and the hint. */
export async function printError({ message, details, hint }: CliError, stderr: Output): Promise<void> {
  const lines = [`error: ${visibleText(message)}`, ...details.map(visibleText)];
  if (hint !== undefined) lines.push(`hint: ${visibleText(hint)}`);
  // If standard error is closed too, only the exit code can report the error.
  await stderr.write(`${lines.join('\n')}\n`).catch(() => {});
}
