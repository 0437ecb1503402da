/**
 * Helpers shared with the other packages of this repository. They are not part of the public API and may change in any
 * release.
 *
 * ```ts
 * import { forwardHandler } from '@svc/exec-http/internal';
 *
 * // Every path that this server does not have goes to the time-series database.
 * const forward = forwardHandler(service);
 * ```
 */
export { forwardHandler } from './forward-all/forward-handler.ts';
