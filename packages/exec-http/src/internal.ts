/**
 * Helpers shared with the other packages of this repository. They are not part of the public API and may change in any
 * release.
 *
 * ```ts
 * import { forwardHandler } from '@svc/exec-http/internal';
 * import { createMemoryStore } from '@svc/frames';
 * import { createService } from '@svc/service';
 *
 * // Sends a request to the time-series database, whatever its path is.
 * const forward = forwardHandler(createService({ store: createMemoryStore() }));
 * ```
 */
export { forwardHandler } from './endpoints/exec-handlers.ts';
