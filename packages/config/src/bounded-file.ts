import { closeSync, openSync, readSync } from 'node:fs';
import * as v from 'valibot';

/**
 * Reads a whole file; throws what `node:fs` throws. Of one with more than `maxBytes` it may give the beginning, longer
 * than that by a byte.
 */
export type ReadFile = (path: string, maxBytes: number) => Uint8Array;

/** `node:fs` in a bounded form: never more than one byte past what is allowed, from pipes and devices too. */
export function readBoundedFile(path: string, maxBytes: number): Uint8Array {
  const file = openSync(path, 'r');
  try {
    const bytes = new Uint8Array(maxBytes + 1);
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = readSync(file, bytes, length, bytes.length - length, null);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

/** The reason that a file which is not there cannot be read. */
export const MISSING = 'there is no such file';

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: MISSING,
  ENOTDIR: MISSING,
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EISDIR: 'it is a directory',
};

/** Why a file could not be read, in a few words. */
export function readFailure(error: unknown): string {
  const code = v.is(v.object({ code: v.string() }), error) ? error.code : 'an unknown failure';
  return READ_FAILURES[code] ?? `the system says ${code}`;
}
