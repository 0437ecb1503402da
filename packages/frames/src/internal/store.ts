/**
 * What every store checks: handles, conditions and expiry of writes.
 *
 * ```ts
 * import { HANDLE_PATTERN } from '@svc/frames/store';
 *
 * HANDLE_PATTERN.test('trades'); // true
 * ```
 */
export { HANDLE_PATTERN } from '../store.ts';
export {
  checkFree,
  checkOtherHandle,
  checkPutConditions,
  createWriteReservations,
  expiryOf,
  type WriteReservation,
  type WriteReservations,
} from '../write-conditions.ts';
