/**
 * Helpers shared with the other packages of this repository. They are not part of the public API and may change in any
 * release.
 *
 * ```ts
 * import { defaultHosts } from '@svc/config/internal';
 *
 * defaultHosts('0.0.0.0'); // undefined: any name
 * ```
 */
export { defaultHosts } from './value-type.ts';
export { schedulerCluster, type SchedulerCluster } from './scheduler-url.ts';
