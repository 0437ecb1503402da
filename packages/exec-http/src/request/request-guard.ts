import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { parseQueryString } from './query-string.ts';

/** Options of `createRequestGuard`. */
export interface RequestGuardOptions {
  /** Other origins whose pages may change frames and run SQL; `*`: all. Default: none. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Allowed values of `Host`, without a port; `*`: any. Default: any. */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** The parts of a request for the guard; the request of a Hono context has them. */
export interface GuardedRequest {
  readonly method: string;
  readonly url: string;
  header(name: string): string | undefined;
}

/** Protects the server against cross-site request forgery and DNS rebinding. */
export interface RequestGuard {
  /** Headers of every response. */
  readonly headers: Readonly<Record<string, string>>;
  /** Throws `permission_denied` for a forbidden request. `actsOnGet`: a GET does more than read. */
  check(request: GuardedRequest, actsOnGet: boolean): void;
}

/**
 * Creates the checks of every request before its handler runs.
 *
 * Any page can make a browser send a GET or a plain POST. It cannot read the response, but the request takes effect.
 * Browsers reveal the origin of a request with `Sec-Fetch-Site` (for https and loopback addresses) and with `Origin` (for
 * every POST); other clients send neither. After DNS rebinding, a foreign page has the same origin as this server: only
 * `Host` reveals it.
 */
export function createRequestGuard({ allowedOrigins = [], allowedHosts }: RequestGuardOptions): RequestGuard {
  const isHostAllowed = hostCheck(allowedHosts);
  const isOriginAllowed = (origin: string | undefined): boolean =>
    allowedOrigins.includes('*') || (origin !== undefined && allowedOrigins.includes(origin));
  return {
    headers: allowedOrigins.length === 0 ? { 'cross-origin-resource-policy': 'same-origin' } : {},
    check: (request, actsOnGet) => {
      checkHost(request, isHostAllowed);
      if (!isFromOtherOrigin(request)) return;
      const origin = request.header('origin');
      if (isOriginAllowed(origin) || !(isChange(request, actsOnGet) || carriesSql(request))) return;
      const page = origin === undefined ? 'A web page of another origin' : `A web page of the origin ${quoted(origin)}`;
      throw new ServiceError('permission_denied', `${page} may not change anything or run SQL here.`, {
        hint: 'Add the origin of the page to http.cors_origins, and send the request from the page with fetch().',
      });
    },
  };
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

function isChange({ method }: GuardedRequest, actsOnGet: boolean): boolean {
  return !SAFE_METHODS.has(method) || (actsOnGet && method !== 'OPTIONS');
}

function carriesSql({ method, url }: GuardedRequest): boolean {
  return method !== 'OPTIONS' && parseQueryString(url).some(([name]) => name === 'query');
}

function isFromOtherOrigin(request: GuardedRequest): boolean {
  const site = request.header('sec-fetch-site');
  // `none`: the user typed the address or chose a bookmark.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const origin = request.header('origin');
  return origin !== undefined && origin !== new URL(request.url).origin;
}

function checkHost(request: GuardedRequest, isAllowed: (host: string) => boolean): void {
  const host = request.header('host');
  // The request target may be an absolute URL with its own host.
  const [, target = ''] = /^[^/]*\/\/([^/?#]*)/.exec(request.url) ?? [];
  const refused = [host ?? target, target].find((name) => !isAllowed(name));
  if (refused === undefined) return;
  throw new ServiceError('permission_denied', `The Host ${quoted(refused)} is not a name of this server.`, {
    hint: 'If clients reach the server under this name, add it to http.allowed_hosts.',
  });
}

function hostCheck(allowedHosts: readonly string[] | undefined): (host: string) => boolean {
  if (allowedHosts === undefined || allowedHosts.includes('*')) return () => true;
  const allowed = new Set(allowedHosts.map((name) => hostname(IPV6.test(name) ? `[${name}]` : name)));
  // The header usually matches literally; the URL parser is only for the rest.
  return (host) => allowed.has(host.replace(/:\d+$/, '')) || allowed.has(hostname(host));
}

/** Only IPv6 addresses have more than one colon. Node's `isIPv6` takes several milliseconds when it is first called. */
const IPV6 = /:.*:/;

/** Returns the host of `host:port` as normalized by the URL parser, without a trailing dot. */
function hostname(host: string): string {
  const url = `http://${host}`;
  if (/[\s@/?#\\%]/.test(host) || !URL.canParse(url)) return host;
  return new URL(url).hostname.replace(/\.$/, '');
}
