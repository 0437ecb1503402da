import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { CliError, errorCode } from '../errors.ts';

/** The name of standard input or output. */
export const DASH = '-';

const CHUNK_BYTES = 256 * 1024;

/** A file opened for reading. */
export interface OpenSource {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Undefined if it is not known in advance, as for a pipe. */
  readonly bytes: number | undefined;
  close(): Promise<void>;
}

/** Opens a file, or standard input for `-`. */
export async function openSource(file: string, stdin: Readable): Promise<OpenSource> {
  if (file === DASH) {
    return {
      chunks: readSource('Standard input', stdin),
      bytes: undefined,
      close: async () => void stdin.destroy(),
    };
  }
  const title = JSON.stringify(file);
  const opened = await open(file).catch(fail(title));
  const stat = await opened.stat();
  if (stat.isDirectory()) {
    await opened.close();
    throw new CliError('usage', `${title} is a directory.`, { hint: 'Name a file.' });
  }
  const stream = opened.createReadStream({ highWaterMark: CHUNK_BYTES, autoClose: false });
  return {
    chunks: readSource(title, stream),
    bytes: stat.isFile() ? stat.size : undefined,
    close: () => opened.close(),
  };
}

/** Yields the bytes of a stream; errors begin with `title`. */
async function* readSource(title: string, stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of stream) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError('The stream has an encoding set.');
      yield chunk;
    }
  } catch (error) {
    fail(title)(error);
  }
}

const REASONS: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOENT: ['there is no such file', 'Check the name and the current directory.'],
  ENOTDIR: ['there is no such file', 'Check the name and the current directory.'],
  EACCES: ['permission is denied', 'Change its permissions, or run svc as another user.'],
  EPERM: ['permission is denied', 'Change its permissions, or run svc as another user.'],
  EISDIR: ['it is a directory', 'Name a file.'],
  EIO: ['the disk reports an error', 'Try again, or use a copy on another disk.'],
};
const OTHER_HINT = 'Check that other programs can read it.';

function fail(title: string): (error: unknown) => never {
  return (error) => {
    const code = errorCode(error);
    if (code === undefined) throw error;
    const [reason, hint] = REASONS[code] ?? [code, OTHER_HINT];
    throw new CliError('usage', `${title} cannot be read: ${reason}.`, { hint, cause: error });
  };
}

/** Reads a text file of limited size. Errors begin with `title`, and do not quote its text: it may be a secret. */
export function readSmallFile(path: string, title: string, maxBytes: number, hint: string): string {
  const bytes = Buffer.alloc(maxBytes + 1);
  let length = 0;
  try {
    length = readInto(bytes, path);
  } catch (error) {
    fail(title)(error);
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
