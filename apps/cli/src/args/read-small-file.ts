import { closeSync, openSync, readSync } from 'node:fs';
import { CliError } from '../errors/cli-error.ts';
import { errorCode } from '../errors/error-code.ts';

/** A file that a flag names. */
export interface SmallFile {
  readonly path: string;
  /** The start of an error: `The token file "a.txt"`. */
  readonly title: string;
  readonly maxBytes: number;
  readonly hint: string;
}

/** Reads a text file of limited size. Errors do not quote its text, which may be a secret. */
export function readSmallFile({ path, title, maxBytes, hint }: SmallFile): string {
  const bytes = Buffer.alloc(maxBytes + 1);
  let length = 0;
  try {
    length = readInto(bytes, path);
  } catch (error) {
    throw new CliError('usage', `${title} cannot be read: ${errorCode(error)}.`, { hint, cause: error });
  }
  if (length > maxBytes) throw new CliError('usage', `${title} has more than ${maxBytes} bytes.`, { hint });
  return bytes.toString('utf8', 0, length);
}

/** Fills a buffer from a file, a pipe or a device; returns how many bytes there were, at most its length. */
function readInto(bytes: Buffer, path: string): number {
  const file = openSync(path, 'r');
  try {
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = readSync(file, bytes, length, bytes.length - length, null);
    }
    return length;
  } finally {
    closeSync(file);
  }
}
