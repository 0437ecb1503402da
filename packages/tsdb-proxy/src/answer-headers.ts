/** Under this name an answer's `Content-Encoding` passes `fetch`, which would otherwise decode the body. */
export const KEPT_CONTENT_ENCODING = 'x-kept-content-encoding';

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
  KEPT_CONTENT_ENCODING,
]);

/**
 * The headers of the database that a client may see. `Content-Length` stays where there is a body: its bytes are not
 * touched, and a body that is shorter ends with an error.
 */
export function answerHeaders(upstream: Headers, hasBody: boolean): Headers {
  const named = new Set((upstream.get('connection') ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const headers = new Headers();
  for (const [name, value] of upstream) {
    if (NOT_PASSED_ON.has(name) || named.has(name) || name.startsWith('access-control-')) continue;
    if (name === 'content-length' && !hasBody) continue;
    if (isHeaderValue(value)) headers.append(name, value);
  }
  const encoding = upstream.get(KEPT_CONTENT_ENCODING);
  if (encoding !== null && hasBody && isHeaderValue(encoding)) headers.set('content-encoding', encoding);
  return headers;
}

/** What a header may hold; anything else would make `Headers` throw. */
function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}
