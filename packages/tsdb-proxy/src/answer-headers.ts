import type { IncomingHttpHeaders } from 'node:http';

/** Headers that speak of the connection to the database, of its host, or for an origin that is not its own. */
const NOT_PASSED_ON = new Set([
  'alt-svc',
  'clear-site-data',
  'connection',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'server',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'x-powered-by',
  'x-request-id',
]);

/**
 * The headers of the database that a client may see. `Content-Length` stays where there is a body: its bytes are not
 * touched, and a body that is shorter ends with an error.
 */
export function answerHeaders(upstream: IncomingHttpHeaders, hasBody: boolean): Headers {
  const named = upstream.connection?.toLowerCase().split(/[\s,]+/);
  const headers = new Headers();
  for (const [name, value] of Object.entries(upstream)) {
    if (NOT_PASSED_ON.has(name) || named?.includes(name) === true || name.startsWith('access-control-')) continue;
    if (!hasBody && (name === 'content-length' || name === 'content-encoding')) continue;
    for (const one of typeof value === 'string' ? [value] : (value ?? [])) {
      if (isHeaderValue(one)) headers.append(name, one);
    }
  }
  return headers;
}

/** What a header may hold; anything else would make `Headers` throw. */
function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}
