import { ServiceError } from '@svc/errors';

/**
 * The database answered 401: the credentials this server was configured with are wrong. To clients it is a plain
 * `tsdb_failed`; its class lets the layer above report it to the operator.
 */
export class TsdbCredentialsError extends ServiceError {
  constructor() {
    super('tsdb_failed', 'The time-series database refused the credentials of this server.', {
      hint: 'Set tsdb.user and tsdb.password, or tsdb.token, to what the time-series database accepts.',
    });
  }
}
