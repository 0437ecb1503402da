import type { Writable } from 'node:stream';
import { CliError, OutputClosedError } from '../errors/cli-error.ts';
import { errorCode } from '../errors/error-code.ts';

const DEFAULT_WIDTH = 80;

/** Where text goes. */
export interface Output {
  /** Columns of the terminal; undefined where it is none, and lines may be as long as they are. */
  readonly width: number | undefined;
  /** Whether it understands colours. */
  readonly isStyled: boolean;
  /** Resolves when the stream has taken the bytes, so that a slow reader slows the writer down. */
  write(chunk: string | Uint8Array): Promise<void>;
}

/** The part of `process.stdout` that an output needs. */
export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  hasColors?(): boolean;
}

/** An output that writes to a stream. */
export function createOutput(stream: OutputStream): Output {
  const isTerminal = stream.isTTY === true;
  // The callback of each write reports failures; without a listener the same failure would end the process.
  stream.on('error', () => {});
  return {
    // Asked each time, as a window changes; some terminals report 0 columns when they do not know.
    get width() {
      return isTerminal ? stream.columns || DEFAULT_WIDTH : undefined;
    },
    isStyled: isTerminal && stream.hasColors?.() === true,
    write: (chunk) =>
      new Promise((resolve, reject) => {
        stream.write(chunk, (error) => (error ? reject(outputError(error, 'The output')) : resolve()));
      }),
  };
}

const REASONS: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOSPC: ['no space is left', 'Make some, or write to another disk.'],
  EDQUOT: ['no space is left', 'Make some, or write to another disk.'],
  ENOENT: ['there is no such folder', 'Make the folder, or check its name.'],
  ENOTDIR: ['there is no such folder', 'Make the folder, or check its name.'],
  EACCES: ['this user may not write there', 'Write into a folder of your own, or change the rights of this one.'],
  EPERM: ['this user may not write there', 'Write into a folder of your own, or change the rights of this one.'],
  EROFS: ['the disk can only be read', 'Write to another disk.'],
  EISDIR: ['it is a directory', 'Name a file.'],
  ELOOP: ['its links lead in a circle', 'Remove the link, or name another file.'],
};
const OTHER_HINT = 'Check that other programs can write there, or write elsewhere.';

/** A failed write as an error for the user; `name` begins the sentence. */
export function outputError(error: unknown, name: string): unknown {
  const code = errorCode(error);
  if (code === undefined) return error;
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return new OutputClosedError();
  const [reason, hint] = REASONS[code] ?? [code, OTHER_HINT];
  return new CliError('usage', `${name} cannot be written: ${reason}.`, { hint, cause: error });
}
