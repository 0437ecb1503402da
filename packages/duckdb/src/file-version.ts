import type { BigIntStats } from 'node:fs';

/** Another where the file is another one, or was written to; it sorts by the time of that. */
export function versionOfFile(file: BigIntStats): string {
  return [file.mtimeNs.toString(16).padStart(16, '0'), file.ino.toString(16), file.size.toString(16)].join('-');
}
