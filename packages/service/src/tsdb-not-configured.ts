import { ERROR_CODES, ServiceError } from '@svc/errors';

/** The answer to SQL where there is no time-series database to send it to. */
export function tsdbNotConfigured(hasLocalEngine: boolean): ServiceError {
  const { hint } = ERROR_CODES.tsdb_not_configured;
  return new ServiceError('tsdb_not_configured', 'No time-series database is configured to send SQL to.', {
    hint: hasLocalEngine ? `${hint} Or send engine=local to ask the frames of this server.` : hint,
  });
}
