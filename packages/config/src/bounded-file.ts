import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import * as v from 'valibot';

/**
 * Reads a whole file; throws what `node:fs` throws. If the file has more than `maxBytes`, the result may be its first
 * `maxBytes + 1` bytes.
 */
export type ReadFile = (path: string, maxBytes: number) => Uint8Array;

/** How long to wait for data from a pipe. */
const PIPE_MS = 5000;
const PIPE_POLL_MS = 10;

/** No data arrived on the pipe in time. */
class SilentPipeError extends Error {
  readonly code = 'silent_pipe';
}

/**
 * Reads at most one byte more than `maxBytes`, from files, pipes and devices. Waits for a pipe, such as `<(…)` in a
 * shell, but only for `pipeMs`: it may never get a writer.
 */
export function readBoundedFile(path: string, maxBytes: number, pipeMs: number = PIPE_MS): Uint8Array {
  // A blocking open of a pipe without a writer would wait for one.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const bytes = new Uint8Array(maxBytes + 1);
    // After a plain stat of a pipe, Node does not follow some links when it resolves imports. `bigint` avoids that.
    const isPipe = fstatSync(file, { bigint: true }).isFIFO();
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

/** Returns the number of bytes read, 0 at the end. Before the first byte, 0 means that the pipe has no writer yet. */
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

/** Undefined: the pipe has a writer that has not written anything yet. */
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

/** The reason for a file that does not exist. */
export const MISSING = 'there is no such file';

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: MISSING,
  ENOTDIR: MISSING,
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EISDIR: 'it is a directory',
  ENXIO: 'it is a socket, or a device that does not exist',
  silent_pipe: 'it is a pipe that nothing writes to',
};

/** Describes in a few words why a file could not be read. */
export function readFailure(error: unknown): string {
  const code = v.is(v.object({ code: v.string() }), error) ? error.code : 'an unknown failure';
  return READ_FAILURES[code] ?? `the system says ${code}`;
}
