/**
 * Helpers shared with the other packages of this repository. They are not part of the public API and may change in any
 * release.
 *
 * ```ts
 * import { counted, quoted } from '@svc/errors/internal';
 *
 * counted(2, 'row'); // '2 rows'
 * quoted('a "b"'); // '"a \\"b\\""'
 * ```
 */
export { orAborted } from './cancellation.ts';
export { counted, quoted } from './text.ts';
export { isOutOfFiles } from './service-error.ts';
