import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import * as v from 'valibot';

/**
 * Reads a whole file; throws what `node:fs` throws. Of one with more than `maxBytes` it may give the beginning, longer
 * than that by a byte.
 */
export type ReadFile = (path: string, maxBytes: number) => Uint8Array;

/** How long the writer of a pipe may take to send something. */
const PIPE_MS = 5000;
const PIPE_POLL_MS = 10;

/** Nothing is written to the pipe. */
class SilentPipeError extends Error {
  readonly code = 'silent_pipe';
}

/**
 * `node:fs` in a bounded form: never more than one byte past what is allowed, from pipes and devices too. A pipe, as
 * `<(…)` of a shell makes it, is waited for, but not for ever: nothing may ever be written to it.
 */
export function readBoundedFile(path: string, maxBytes: number, pipeMs: number = PIPE_MS): Uint8Array {
  // To open a pipe without a writer would wait for one.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const bytes = new Uint8Array(maxBytes + 1);
    const isPipe = fstatSync(file).isFIFO();
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      const rest = bytes.subarray(length);
      count = isPipe
        ? readPipe(file, rest, { hasBegun: length > 0, pipeMs })
        : readSync(file, rest, 0, rest.length, null);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

/** Reads what comes next from a pipe; 0 at its end, which a pipe that had no writer yet has not reached. */
function readPipe(
  file: number,
  bytes: Uint8Array,
  { hasBegun, pipeMs }: { readonly hasBegun: boolean; readonly pipeMs: number },
): number {
  for (const end = performance.now() + pipeMs; performance.now() < end; pause(PIPE_POLL_MS)) {
    const count = readNow(file, bytes);
    if (count === undefined || (count === 0 && !hasBegun)) continue;
    return count;
  }
  throw new SilentPipeError();
}

/** Undefined: there is a writer, which has written nothing yet. */
function readNow(file: number, bytes: Uint8Array): number | undefined {
  try {
    return readSync(file, bytes, 0, bytes.length, null);
  } catch (error) {
    if (v.is(v.object({ code: v.literal('EAGAIN') }), error)) return undefined;
    throw error;
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** The reason that a file which is not there cannot be read. */
export const MISSING = 'there is no such file';

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: MISSING,
  ENOTDIR: MISSING,
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EISDIR: 'it is a directory',
  ENXIO: 'it is a socket, or a device that is not there',
  silent_pipe: 'it is a pipe to which nothing is written',
};

/** Why a file could not be read, in a few words. */
export function readFailure(error: unknown): string {
  const code = v.is(v.object({ code: v.string() }), error) ? error.code : 'an unknown failure';
  return READ_FAILURES[code] ?? `the system says ${code}`;
}
