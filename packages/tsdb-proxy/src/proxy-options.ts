import { X509Certificate } from 'node:crypto';
import { ServiceError } from '@svc/errors';

/** How to reach the time-series database, and how long to wait for it. */
export interface TsdbProxyOptions {
  /** Base URL, `http:` or `https:`, with or without a path: `http://127.0.0.1:9000`. */
  readonly url: string;
  /** User for Basic authentication, together with `password`. Default: no credentials. */
  readonly user?: string | undefined;
  /** Password for Basic authentication. Default: empty if `user` is set. */
  readonly password?: string | undefined;
  /** Bearer token, instead of `user`. Default: none. */
  readonly token?: string | undefined;
  /**
   * Certificate authorities to trust for an `https:` database, as PEM, instead of the well-known ones. Default: those
   * that Node trusts.
   */
  readonly ca?: string | undefined;
  /** How long to wait for a connection, including the TLS handshake, in milliseconds. Default: 2000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long to wait for the response headers, including the wait for a connection. Default: 60 000. */
  readonly timeoutMs?: number | undefined;
  /** The longest wait for the next chunk of a body. Default: 30 000. */
  readonly idleTimeoutMs?: number | undefined;
  /** The most open connections; further requests wait for up to `timeoutMs`. Default: 64. */
  readonly maxConnections?: number | undefined;
}

/** The validated options with their defaults. */
export interface CheckedOptions {
  readonly base: URL;
  readonly authorization: string | undefined;
  readonly ca: string | undefined;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxConnections: number;
}

/** Node's timers fire at once if their delay is longer. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Validates the options up front: `forward` cannot fail because of them. */
export function checkOptions(options: TsdbProxyOptions): CheckedOptions {
  return {
    base: checkUrl(options.url),
    authorization: authorizationOf(options),
    ca: checkCa(options.ca),
    connectTimeoutMs: checkWhole('connectTimeoutMs', options.connectTimeoutMs ?? 2_000, MAX_TIMEOUT_MS),
    timeoutMs: checkWhole('timeoutMs', options.timeoutMs ?? 60_000, MAX_TIMEOUT_MS),
    idleTimeoutMs: checkWhole('idleTimeoutMs', options.idleTimeoutMs ?? 30_000, MAX_TIMEOUT_MS),
    maxConnections: checkWhole('maxConnections', options.maxConnections ?? 64, 10_000),
  };
}

function checkUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isBase = url !== undefined && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
  if (!isBase) {
    // Not quoted, because the text may contain a password.
    throw invalid('The URL of the time-series database is not an http or https base URL.', {
      hint: 'Use the form http://<host>:<port>, with a path if needed, and without query or fragment.',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('The URL of the time-series database contains credentials.', {
      hint: 'Move them to tsdb.user and tsdb.password.',
    });
  }
  return url;
}

function authorizationOf({ user, password, token }: TsdbProxyOptions): string | undefined {
  const hint = 'Set tsdb.user and tsdb.password, or tsdb.token, or none of them.';
  if (token !== undefined) {
    if (user !== undefined || password !== undefined) {
      throw invalid('The time-series database has both a token and a user.', { hint });
    }
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw invalid(
        'The token for the time-series database is empty or contains characters that are not allowed in a header.',
      );
    }
    return `Bearer ${token}`;
  }
  if (user === undefined) {
    if (password !== undefined) throw invalid('The time-series database has a password but no user.', { hint });
    return undefined;
  }
  if (user === '' || user.includes(':')) {
    throw invalid('The user for the time-series database is empty or contains a colon.');
  }
  return `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}`;
}

function checkCa(pem: string | undefined): string | undefined {
  if (pem === undefined || holdsCertificates(pem)) return pem;
  throw invalid('The certificate authorities for the time-series database are not PEM certificates.');
}

/** Checked here, because OpenSSL silently accepts any text and then trusts no certificate. */
function holdsCertificates(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  try {
    return blocks.length > 0 && blocks.every((block) => new X509Certificate(block).serialNumber !== '');
  } catch {
    return false;
  }
}

function checkWhole(name: string, value: number, max: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw invalid(`The option ${name} is ${value}; it must be a whole number from 1 to ${max}.`);
}

function invalid(message: string, options: { hint: string } = { hint: 'Correct the option.' }): ServiceError {
  return new ServiceError('invalid_argument', message, options);
}
