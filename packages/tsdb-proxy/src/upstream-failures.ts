import { ServiceError } from '@svc/errors';

const UNKNOWN_OUTCOME = 'Whether the statement ran is not known: check before you send it again.';

interface FailureRow {
  /** Matches the code, the name or the message of the error behind. */
  readonly match: RegExp;
  readonly message: string;
  readonly hint?: string;
}

/** Failures before the head of the answer, by the error that the client raised; the first match counts. */
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
    hint: 'Renew it, and check the clocks of both machines.',
  },
  {
    match: /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    message: 'The certificate of the time-series database is for another host name.',
    hint: 'Set tsdb.http_url to a name that the certificate holds.',
  },
  {
    match: /^(EPROTO|ERR_TLS_|ERR_SSL_|CERT_)/,
    message: 'No TLS connection to the time-series database could be made.',
    hint: 'Check the scheme of tsdb.http_url and the certificate of the time-series database.',
  },
  {
    match: /^UND_ERR_HEADERS_OVERFLOW$/,
    message: 'The time-series database answered with a head that is too large.',
    hint: UNKNOWN_OUTCOME,
  },
  {
    match: /^HTTPParserError$/,
    message: 'The time-series database answered with something that is not HTTP.',
    hint: `Check that tsdb.http_url names its HTTP port. ${UNKNOWN_OUTCOME}`,
  },
];

/** A failure before the head of the answer, from what the client raised. */
export function noResponse(thrown: unknown, connectTimeoutMs: number): ServiceError {
  const { code, name, message, syscall } = errorBehind(thrown);
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || (code === 'ETIMEDOUT' && syscall !== 'read')) {
    return new ServiceError(
      'deadline_exceeded',
      `No connection to the time-series database could be made within ${connectTimeoutMs} ms (tsdb.connect_timeout_ms).`,
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

/** No head of an answer in time. */
export function late(timeoutMs: number): ServiceError {
  return new ServiceError(
    'deadline_exceeded',
    `The time-series database did not begin to answer within ${timeoutMs} ms (tsdb.timeout_ms).`,
    { hint: `Ask for less, or raise tsdb.timeout_ms. ${UNKNOWN_OUTCOME}` },
  );
}

/** No byte of the body in time. */
export function silent(idleTimeoutMs: number): ServiceError {
  return new ServiceError(
    'deadline_exceeded',
    `The time-series database sent nothing for ${idleTimeoutMs} ms in the middle of its answer (tsdb.idle_timeout_ms).`,
  );
}

/** The body ended before it was whole. */
export function brokenOff(thrown: unknown): ServiceError {
  return new ServiceError('tsdb_failed', 'The time-series database broke off in the middle of its answer.', {
    hint: UNKNOWN_OUTCOME,
    cause: thrown,
  });
}

/** An answer that sends the client elsewhere. */
export function redirected(status: number): ServiceError {
  return new ServiceError('tsdb_failed', `The time-series database answered with a redirect (${status}).`, {
    hint: 'Redirects are not followed: set tsdb.http_url to where the time-series database itself answers.',
  });
}

/** A status that cannot be the answer to a query. */
export function unusableStatus(status: number): ServiceError {
  return new ServiceError(
    'tsdb_failed',
    `The time-series database answered with status ${status}, which is no answer.`,
    {
      hint: `Check that tsdb.http_url names a time-series database. ${UNKNOWN_OUTCOME}`,
    },
  );
}

/** The innermost cause is the one that says something. */
function errorBehind(thrown: unknown): Record<'code' | 'name' | 'message' | 'syscall', string> {
  let error = thrown;
  while (error instanceof Error && error.cause instanceof Error) error = error.cause;
  const property = (key: string) => {
    const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, key) : undefined;
    return typeof value === 'string' ? value : '';
  };
  return { code: property('code'), name: property('name'), message: property('message'), syscall: property('syscall') };
}
