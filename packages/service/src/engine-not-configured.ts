import { ERROR_CODES, ServiceError } from '@svc/errors';
import type { EngineName, SqlTarget } from './engine-names.ts';

/** Returns the error of SQL for an engine that is not configured; `engines` are the configured ones. */
export function engineNotConfigured(engine: SqlTarget, engines: readonly EngineName[]): ServiceError {
  switch (engine) {
    case 'tsdb': {
      const { hint } = ERROR_CODES.tsdb_not_configured;
      return new ServiceError('tsdb_not_configured', 'No time-series database is configured to send SQL to.', {
        hint: engines.includes('local') ? `${hint} Or send engine=local to query the frames of this server.` : hint,
      });
    }
    case 'scheduler':
      return new ServiceError('scheduler_not_configured', 'No scheduler is configured to send SQL to.');
    case 'local':
      return new ServiceError('invalid_argument', 'This server has no engine to run SQL over its frames.', {
        hint: 'Read frames by their handles.',
      });
    default:
      return engine satisfies never;
  }
}
