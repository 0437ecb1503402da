import { CliError } from '../errors/cli-error.ts';
import { errorCode } from '../errors/error-code.ts';
import { ResponseTimeoutError } from './request-watch.ts';

/** The request that failed. */
export interface ConnectionErrorOptions {
  readonly url: string;
  /** Whether it may have changed something before it failed. */
  readonly isAction: boolean;
}

/** Failures before any byte of the request was sent. */
const NOT_REACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be resolved now',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to the network',
  ETIMEDOUT: 'it does not answer',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
};

/** Other failures, by code, name or message: some versions of Node set no code. */
const BROKEN: Readonly<Record<string, string>> = {
  ECONNRESET: 'the server closed the connection without a response',
  EPIPE: 'the server closed the connection without a response',
  UND_ERR_SOCKET: 'the server closed the connection without a response',
  UND_ERR_HEADERS_TIMEOUT: 'the server was silent for five minutes',
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'the file changed while it was sent',
  TimeoutError: 'the server did not answer in time',
  HTTPParserError: 'its response is not HTTP',
  'unexpected redirect': 'the server redirects, and an upload is sent only once',
  'bad port': 'HTTP clients refuse to use this port',
};

/** Without a certificate that it requires, a server closes the connection after the handshake. */
const CLOSED: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Errors of OpenSSL if the peer sends plain text. */
const NOT_TLS: ReadonlySet<string> = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

const CERTIFICATE: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate authority is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate authority is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate authority is not trusted here',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
};

/** Converts a failed fetch to an error for the user. */
export function connectionError(thrown: unknown, { url, isAction }: ConnectionErrorOptions): CliError {
  const { code, name, message } = rootCause(thrown);
  const notReached = NOT_REACHED[code];
  if (notReached !== undefined) {
    return new CliError('unreachable', `The server ${url} cannot be reached: ${notReached}.`, {
      hint: 'Start one with svc serve, or name another with --url or SVC_URL.',
      cause: thrown,
    });
  }
  if (NOT_TLS.has(code)) {
    return new CliError('unreachable', `The server ${url} cannot be reached: its response is not TLS.`, {
      hint: `Write ${url.replace(/^https:/, 'http:')} if it speaks plain HTTP.`,
      cause: thrown,
    });
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    return new CliError('unreachable', `The server ${url} cannot be reached: the TLS handshake failed (${code}).`, {
      hint: 'Check which TLS versions it supports, and whether it requires a client certificate: see --cert and --key.',
      cause: thrown,
    });
  }
  const certificate = CERTIFICATE[code];
  if (certificate !== undefined) {
    return new CliError('unreachable', `The server ${url} is not trusted: ${certificate}.`, {
      hint: 'Name the file of its certificate authority with --ca-file, or fix the certificate.',
      cause: thrown,
    });
  }
  if (CLOSED.has(code) && url.startsWith('https:') && !isAction) {
    return new CliError('unreachable', `The request to ${url} failed: ${BROKEN[code]}.`, {
      hint: 'It may require a client certificate that it trusts: see --cert and --key.',
      cause: thrown,
    });
  }
  const broken = BROKEN[code] ?? BROKEN[name] ?? BROKEN[message] ?? message;
  return new CliError('unreachable', `The request to ${url} failed: ${broken}.`, {
    hint: isAction
      ? 'It may have taken effect: check before you repeat it.'
      : thrown instanceof ResponseTimeoutError
        ? 'Wait longer with --timeout <seconds>, or check whether the server is busy.'
        : 'Check that --url or SVC_URL names a data-frame server, and that it is running.',
    cause: thrown,
  });
}

/** Unwraps the error: fetch wraps it once or more. */
function rootCause(thrown: unknown): { readonly code: string; readonly name: string; readonly message: string } {
  let error = thrown;
  while (error instanceof Error && error.cause instanceof Error) error = error.cause;
  if (!(error instanceof Error)) return { code: '', name: '', message: String(error) };
  return {
    code: errorCode(error) ?? '',
    name: error.name,
    message: error.message === '' ? String(error) : error.message,
  };
}
