/**
 * Helpers for durable files, shared with the other packages of this repository. They are not part of the public API and may
 * change in any release.
 *
 * ```ts
 * import { makeDirectory, syncDirectory, writeFlushed } from '@svc/objects/internal';
 *
 * await makeDirectory('/data/frames');
 * await writeFlushed('/data/frames/.format', '{"format":2}');
 * await syncDirectory('/data/frames');
 * ```
 */
export {
  type CopiedFile,
  copyFlushed,
  freeDiskBytes,
  hasCode,
  makeDirectory,
  NO_LINKS,
  onceAtATime,
  openRegular,
  readSmallFile,
  readStart,
  syncDirectory,
  unlinkIfThere,
  writeFlushed,
  writeWhole,
} from './durable-files.ts';
export { UNFINISHED } from './objects.ts';
