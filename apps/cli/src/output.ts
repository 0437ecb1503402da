import type { Writable } from 'node:stream';
import { CliError, OutputClosedError } from './cli-error.ts';

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
    // Some terminals report 0 columns when they do not know.
    width: isTerminal && stream.columns ? stream.columns : undefined,
    isStyled: isTerminal && stream.hasColors?.() === true,
    write: (chunk) =>
      new Promise((resolve, reject) => {
        stream.write(chunk, (error) => (error ? reject(outputError(error)) : resolve()));
      }),
  };
}

function outputError(error: NodeJS.ErrnoException): Error {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') return new OutputClosedError();
  const reason = error.code === 'ENOSPC' ? 'no space is left' : (error.code ?? error.message);
  return new CliError('usage', `The output cannot be written: ${reason}.`, { cause: error });
}
