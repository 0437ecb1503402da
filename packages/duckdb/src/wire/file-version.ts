import type { BigIntStats } from 'node:fs';

/**
 * Identifies the contents of a file; it changes if the file is replaced or written to, and sorts by change time. It uses
 * ctime because a copy may preserve mtime and inode numbers are reused, but user code cannot set ctime.
 */
export function versionOfFile({ mtimeNs, ctimeNs, ino, size }: BigIntStats): string {
  return [mtimeNs.toString(16).padStart(16, '0'), ...[ctimeNs, ino, size].map((part) => part.toString(16))].join('-');
}
