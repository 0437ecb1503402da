import type { BigIntStats } from 'node:fs';

/**
 * Another where the file is another one, or was written to; it sorts by the time of that. Whoever copies a file may keep
 * that time, and the number of a file that is gone is used again, but nobody can set when a file was changed at all.
 */
export function versionOfFile({ mtimeNs, ctimeNs, ino, size }: BigIntStats): string {
  return [mtimeNs.toString(16).padStart(16, '0'), ...[ctimeNs, ino, size].map((part) => part.toString(16))].join('-');
}
