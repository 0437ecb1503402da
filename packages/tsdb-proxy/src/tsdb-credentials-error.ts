import { ServiceError } from '@svc/errors';

/**
 * The database answered 401: the credentials in this server's configuration are wrong. Clients see a plain `tsdb_failed`;
 * the class tells the service to report the failure to the operator.
 */
export class TsdbCredentialsError extends ServiceError {
  constructor() {
    super('tsdb_failed', 'The time-series database refused the credentials of this server.', {
      hint: 'Set tsdb.user and tsdb.password, or tsdb.token, to what the time-series database accepts.',
    });
  }
}
