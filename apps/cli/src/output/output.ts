import { fstatSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { CliError, OutputClosedError } from '../errors/cli-error.ts';
import { errorCode } from '../errors/error-code.ts';

const DEFAULT_WIDTH = 80;

/** A destination of text. */
export interface Output {
  /** Columns of the terminal; undefined if it is not a terminal, and lines are not limited. */
  readonly width: number | undefined;
  /** Whether it supports colours. */
  readonly isStyled: boolean;
  /** Whether it is a file, and not a terminal or a pipe. Default: no. */
  readonly isFile?: boolean;
  /** Resolves when the stream has accepted the bytes: backpressure for the writer. */
  write(chunk: string | Uint8Array): Promise<void>;
}

/** The members of `process.stdout` that an output needs. */
export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly fd?: number;
  hasColors?(): boolean;
}

/** Creates an output that writes to a stream. */
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
      new Promise((resolve, reject) => {
        stream.write(chunk, (error) => (error ? reject(outputError(error, 'The output')) : resolve()));
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
export function outputError(error: unknown, name: string): unknown {
  const code = errorCode(error);
  if (code === undefined) return error;
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return new OutputClosedError();
  const [reason, hint] = REASONS[code] ?? [code, OTHER_HINT];
  return new CliError('usage', `${name} cannot be written: ${reason}.`, { hint, cause: error });
}
