import type { IncomingHttpHeaders } from 'node:http';

/** Headers about the connection to the database, about its host, or about an origin that is not its own. */
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

/** Whether a response with this status has no body. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/**
 * Returns the headers of the database that a client may see. `Content-Length` stays if there is a body: its bytes are
 * forwarded unchanged, and a shorter body ends with an error.
 */
export function responseHeaders(upstream: IncomingHttpHeaders, hasBody: boolean): Record<string, string> {
  const named = upstream.connection?.toLowerCase().split(/[\s,]+/);
  // A plain object, not `Headers`: filling and reading `Headers` costs more than the rest of a small response.
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

/** The characters that Node accepts in a header value; any other would make the response fail. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
