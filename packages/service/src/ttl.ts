import { ServiceError } from '@svc/errors';

/** The longest time to live: 100 years. */
export const MAX_TTL_SECONDS = 100 * 365 * 24 * 3600;

/** The hint for an invalid TTL. */
export const TTL_HINT = `A time to live is in whole seconds, from 1 to ${MAX_TTL_SECONDS} (100 years).`;

/** Throws if a TTL is out of range. */
export function checkTtl(seconds: number | null | undefined): void {
  if (seconds === null || seconds === undefined) return;
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_TTL_SECONDS) return;
  throw new ServiceError('invalid_argument', `A time to live of ${seconds} seconds is out of range.`, {
    hint: TTL_HINT,
  });
}
