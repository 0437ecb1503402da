import { X509Certificate } from 'node:crypto';
import { ServiceError } from '@svc/errors';

/** How to reach the time-series database, and how long to wait for it. */
export interface TsdbProxyOptions {
  /** Base URL, `http:` or `https:`, with or without a path: `http://127.0.0.1:9000`. */
  readonly url: string;
  /** User for Basic authentication; goes with `password`. Default: no credentials. */
  readonly user?: string | undefined;
  /** Password for Basic authentication. Default: empty, where there is a `user`. */
  readonly password?: string | undefined;
  /** Bearer token; instead of `user`. Default: none. */
  readonly token?: string | undefined;
  /**
   * Certificates in PEM form of the authorities that are trusted to sign the one of an `https:` database, instead of the
   * well-known ones. Default: those that Node trusts.
   */
  readonly ca?: string | undefined;
  /** How long to wait for a connection (TLS included), in milliseconds. Default: 2000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long to wait for the head of the answer, waiting for a connection included. Default: 60 000. */
  readonly timeoutMs?: number | undefined;
  /** The longest silence between two chunks of a body that somebody is waiting for. Default: 30 000. */
  readonly idleTimeoutMs?: number | undefined;
  /** Connections open at once; requests beyond it wait, inside `timeoutMs`. Default: 64. */
  readonly maxConnections?: number | undefined;
}

/** The options, checked and with their defaults. */
export interface CheckedOptions {
  readonly base: URL;
  readonly authorization: string | undefined;
  readonly ca: string | undefined;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxConnections: number;
}

/** Beyond this Node's timers fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Checks the options once, so that a forward can only fail for what happens on the way. */
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
    // The text itself may hold a password, so it is not quoted.
    throw invalid('The URL of the time-series database is not an http or https base URL.', {
      hint: 'Give it as http://<host>:<port>, with a path where needed, without query and fragment.',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('The URL of the time-series database holds credentials.', {
      hint: 'Move them to tsdb.user and tsdb.password.',
    });
  }
  return url;
}

function authorizationOf({ user, password, token }: TsdbProxyOptions): string | undefined {
  const hint = 'Give tsdb.user and tsdb.password, or tsdb.token, or none of them.';
  if (token !== undefined) {
    if (user !== undefined || password !== undefined) {
      throw invalid('The time-series database has both a token and a user.', { hint });
    }
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw invalid('The token for the time-series database is empty or has characters that no header can carry.');
    }
    return `Bearer ${token}`;
  }
  if (user === undefined) {
    if (password !== undefined) throw invalid('The time-series database has a password and no user.', { hint });
    return undefined;
  }
  if (user === '' || user.includes(':')) {
    throw invalid('The user for the time-series database is empty or has a colon in it.');
  }
  return `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}`;
}

function checkCa(pem: string | undefined): string | undefined {
  if (pem === undefined || holdsCertificates(pem)) return pem;
  throw invalid('The authorities to trust for the time-series database are not certificates in PEM form.');
}

/** OpenSSL takes anything without a word and then trusts nobody, so it is looked at here. */
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
