import { ServiceError } from '@svc/errors';

/** The answer to SQL where there is no time-series database to send it to. */
export function tsdbNotConfigured(): ServiceError {
  return new ServiceError('tsdb_not_configured', 'No time-series database is configured to send SQL to.');
}
