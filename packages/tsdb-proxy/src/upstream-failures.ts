import { ServiceError } from '@svc/errors';

const UNKNOWN_OUTCOME = 'The statement may have run: check before you send it again.';

interface FailureRow {
  /** Matches the code, the name or the message of the innermost error. */
  readonly match: RegExp;
  readonly message: string;
  readonly hint?: string;
}

/** Failures before the response headers, by the error of the HTTP client; the first match wins. */
const FAILURES: readonly FailureRow[] = [
  { match: /^ECONNREFUSED$/, message: 'The time-series database refused the connection.' },
  { match: /^(ENOTFOUND|EAI_\w+)$/, message: 'The host name of the time-series database could not be resolved.' },
  {
    match: /^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/,
    message: 'There is no route to the host of the time-series database.',
  },
  {
    match: /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_SIGNATURE_FAILURE)$/,
    message: 'The certificate of the time-series database is not signed by an authority that this server trusts.',
    hint: 'Set tsdb.ca_file to the certificate of its authority.',
  },
  {
    match: /^(CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)$/,
    message: 'The certificate of the time-series database is not valid at this time.',
    hint: 'Renew the certificate, and check the clocks of both machines.',
  },
  {
    match: /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    message: 'The certificate of the time-series database is for another host name.',
    hint: 'Set tsdb.http_url to a host name that the certificate lists.',
  },
  {
    match: /^(EPROTO|ERR_TLS_|ERR_SSL_|CERT_)/,
    message: 'Could not make a TLS connection to the time-series database.',
    hint: 'Check the scheme of tsdb.http_url and the certificate of the time-series database.',
  },
  {
    match: /^UND_ERR_HEADERS_OVERFLOW$/,
    message: 'The time-series database sent response headers that are too large.',
    hint: UNKNOWN_OUTCOME,
  },
  {
    match: /^HTTPParserError$/,
    message: 'The response of the time-series database is not HTTP.',
    hint: `Check that tsdb.http_url has its HTTP port. ${UNKNOWN_OUTCOME}`,
  },
];

/** Returns the error of a request before its response headers arrived. */
export function noResponse(thrown: unknown, connectTimeoutMs: number): ServiceError {
  const { code, name, message, syscall } = errorBehind(thrown);
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || (code === 'ETIMEDOUT' && syscall !== 'read')) {
    return new ServiceError(
      'deadline_exceeded',
      `Could not connect to the time-series database within ${connectTimeoutMs} ms (tsdb.connect_timeout_ms).`,
      { hint: 'Check that the time-series database runs, or raise tsdb.connect_timeout_ms.', cause: thrown },
    );
  }
  const row = FAILURES.find(({ match }) => [code, name, message].some((text) => match.test(text)));
  if (row === undefined) {
    return new ServiceError('tsdb_failed', 'The time-series database closed the connection before it answered.', {
      hint: UNKNOWN_OUTCOME,
      cause: thrown,
    });
  }
  const options = row.hint === undefined ? { cause: thrown } : { hint: row.hint, cause: thrown };
  return new ServiceError('tsdb_failed', row.message, options);
}

/** Returns the error of a request whose response headers did not arrive in time. */
export function late(timeoutMs: number): ServiceError {
  return new ServiceError(
    'deadline_exceeded',
    `The time-series database did not start to respond within ${timeoutMs} ms (tsdb.timeout_ms).`,
    { hint: `Ask for less, or raise tsdb.timeout_ms. ${UNKNOWN_OUTCOME}` },
  );
}

/** Returns the error of a stalled body. */
export function silent(idleTimeoutMs: number): ServiceError {
  return new ServiceError(
    'deadline_exceeded',
    `The time-series database sent nothing for ${idleTimeoutMs} ms in the middle of its response (tsdb.idle_timeout_ms).`,
  );
}

/** Returns the error of an incomplete body. */
export function brokenOff(thrown: unknown): ServiceError {
  return new ServiceError(
    'tsdb_failed',
    'The connection to the time-series database broke in the middle of its response.',
    {
      hint: UNKNOWN_OUTCOME,
      cause: thrown,
    },
  );
}

/** Returns the error of a redirect. */
export function redirected(status: number): ServiceError {
  return new ServiceError('tsdb_failed', `The time-series database answered with a redirect (${status}).`, {
    hint: 'Redirects are not followed: set tsdb.http_url to the URL of the time-series database itself.',
  });
}

/** Returns the error of an unusable status. */
export function unusableStatus(status: number): ServiceError {
  return new ServiceError(
    'tsdb_failed',
    `The time-series database answered with status ${status}, which cannot be forwarded.`,
    {
      hint: `Check that tsdb.http_url is the URL of a time-series database. ${UNKNOWN_OUTCOME}`,
    },
  );
}

/** Returns the properties of the innermost cause, the most specific error. */
function errorBehind(thrown: unknown): Record<'code' | 'name' | 'message' | 'syscall', string> {
  let error = thrown;
  while (error instanceof Error && error.cause instanceof Error) error = error.cause;
  const property = (key: string) => {
    const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, key) : undefined;
    return typeof value === 'string' ? value : '';
  };
  return { code: property('code'), name: property('name'), message: property('message'), syscall: property('syscall') };
}

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
