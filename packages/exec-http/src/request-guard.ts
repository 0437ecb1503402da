import { isIPv6 } from 'node:net';
import { quoted, ServiceError } from '@svc/errors';
import { parseQueryString } from './query-string.ts';

/** Options of `createRequestGuard`. */
export interface RequestGuardOptions {
  /** Origins of other web pages that may change frames and run SQL; `*`: all. Default: none. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Names that `Host` may have, without a port; `*`: any. Default: any. */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** What the guard looks at; the request of a Hono context is one. */
export interface GuardedRequest {
  readonly method: string;
  readonly url: string;
  header(name: string): string | undefined;
}

/** Keeps web pages from using the server through the browser of someone who can reach it. */
export interface RequestGuard {
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Throws `permission_denied` for a request that must not be answered. `actsOnGet`: a GET is more than a read. */
  check(request: GuardedRequest, actsOnGet: boolean): void;
}

/**
 * The checks that every request passes before its handler runs.
 *
 * A page needs no permission to make a browser send a GET or a plain POST, only to read the answer; but the request would
 * take effect. Browsers say where a request comes from with `Sec-Fetch-Site` (to https and loopback addresses) and with
 * `Origin` (with every POST); other clients send neither. A page whose DNS name is rebound to this server is of the same
 * origin for the browser: only `Host` tells.
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
        hint: 'Name the origin of the page in http.cors_origins, and let the page send the request with fetch().',
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
  // The target of a request may be a whole URL, and then has a host of its own.
  const [, target = ''] = /^[^/]*\/\/([^/?#]*)/.exec(request.url) ?? [];
  const refused = [host ?? target, target].find((name) => !isAllowed(name));
  if (refused === undefined) return;
  throw new ServiceError('permission_denied', `The Host ${quoted(refused)} is not a name of this server.`, {
    hint: 'If clients reach the server under this name, add it to http.allowed_hosts.',
  });
}

function hostCheck(allowedHosts: readonly string[] | undefined): (host: string) => boolean {
  if (allowedHosts === undefined || allowedHosts.includes('*')) return () => true;
  const allowed = new Set(allowedHosts.map((name) => hostname(isIPv6(name) ? `[${name}]` : name)));
  // As a rule the header is written as the names are: only another one needs the URL parser.
  return (host) => allowed.has(host.replace(/:\d+$/, '')) || allowed.has(hostname(host));
}

/** The host of `host:port` as the URL parser writes it, without the dot that may end a full name. */
function hostname(host: string): string {
  const url = `http://${host}`;
  if (/[\s@/?#\\%]/.test(host) || !URL.canParse(url)) return host;
  return new URL(url).hostname.replace(/\.$/, '');
}
