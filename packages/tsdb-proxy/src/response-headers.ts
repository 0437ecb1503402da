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
export function responseHeaders(upstream: IncomingHttpHeaders, hasBody: boolean): Record<string, string> {
  const named = upstream.connection?.toLowerCase().split(/[\s,]+/);
  // A plain object, and not `Headers`, which takes longer to fill and to read than all the rest of a small answer.
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(upstream)) {
    if (NOT_PASSED_ON.has(name) || named?.includes(name) === true || name.startsWith('access-control-')) continue;
    if (!hasBody && (name === 'content-length' || name === 'content-encoding')) continue;
    const values = typeof value === 'string' ? [value] : (value ?? []);
    const sane = values.filter((one) => HEADER_VALUE.test(one));
    if (sane.length > 0) headers[name] = sane.join(', ');
  }
  return headers;
}

/** What a header may hold; anything else would make the answer fail. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
