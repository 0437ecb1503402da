/**
 * Helpers shared with the other packages of this repository. They are not part of the public API and may change in any
 * release.
 *
 * ```ts
 * import { createPrivateDirectory } from '@svc/duckdb/internal';
 *
 * const directory = await createPrivateDirectory('/tmp');
 * directory.path; // is removed when this process ends
 * ```
 */
export {
  createPrivateDirectory,
  type LaterDirectory,
  planPrivateDirectory,
  type PrivateDirectory,
} from './disk/private-directory.ts';
export { startChild } from './child-link/child-link.ts';
