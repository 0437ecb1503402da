/**
 * Helpers shared with the other packages of this repository. They are not part of the public API and may change in any
 * release.
 *
 * ```ts
 * import { TTL_HINT } from '@svc/service/internal';
 * import { ServiceError } from '@svc/errors';
 *
 * throw new ServiceError('invalid_argument', 'The ttl "x" is not a number of seconds.', { hint: TTL_HINT });
 * ```
 */
export { defaultOf, engineNotConfigured } from './engines.ts';
export { eventSource } from './events.ts';
export { OTHER_ROUTE } from './events.ts';
export { TTL_HINT } from './limits.ts';
