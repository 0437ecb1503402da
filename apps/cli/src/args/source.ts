import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { CliError } from '../errors/cli-error.ts';
import { errorCode } from '../errors/error-code.ts';

/** The name that stands for the standard input or output. */
export const DASH = '-';

const CHUNK_BYTES = 256 * 1024;

/** A file opened for reading. */
export interface OpenSource {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Undefined where it is not known before the end, as for a pipe. */
  readonly bytes: number | undefined;
  close(): Promise<void>;
}

/** Opens a file, or the standard input for `-`. */
export async function openSource(file: string, stdin: Readable): Promise<OpenSource> {
  if (file === DASH) {
    return {
      chunks: readSource(file, stdin),
      bytes: undefined,
      close: async () => void stdin.destroy(),
    };
  }
  const opened = await open(file).catch(fail(file));
  const stat = await opened.stat();
  if (stat.isDirectory()) {
    await opened.close();
    throw new CliError('usage', `${JSON.stringify(file)} is a directory.`, { hint: 'Name a file.' });
  }
  const stream = opened.createReadStream({ highWaterMark: CHUNK_BYTES, autoClose: false });
  return {
    chunks: readSource(file, stream),
    bytes: stat.isFile() ? stat.size : undefined,
    close: () => opened.close(),
  };
}

/** The bytes of a stream; what goes wrong names the file. */
async function* readSource(file: string, stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of stream) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError('The stream has an encoding set.');
      yield chunk;
    }
  } catch (error) {
    fail(file)(error);
  }
}

const REASONS: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOENT: ['there is no such file', 'Check its name, and the folder you are in.'],
  ENOTDIR: ['there is no such file', 'Check its name, and the folder you are in.'],
  EACCES: ['this user may not read it', 'Change its rights, or be another user.'],
  EPERM: ['this user may not read it', 'Change its rights, or be another user.'],
  EISDIR: ['it is a directory', 'Name a file.'],
  EIO: ['the disk reports an error', 'Try again, with a copy on another disk if there is one.'],
};
const OTHER_HINT = 'Check that other programs can read it.';

function fail(file: string): (error: unknown) => never {
  return (error) => {
    const code = errorCode(error);
    if (code === undefined) throw error;
    const name = file === DASH ? 'The standard input' : JSON.stringify(file);
    const [reason, hint] = REASONS[code] ?? [code, OTHER_HINT];
    throw new CliError('usage', `${name} cannot be read: ${reason}.`, { hint, cause: error });
  };
}
