import { ServiceError } from '@svc/errors';

/**
 * Keeps web pages of other origins from running SQL. A page needs no leave to make a browser send a GET or a plain POST,
 * only to read the answer; but the SQL would run. Browsers say where a request comes from with `Sec-Fetch-Site` (to
 * https and loopback addresses) and with `Origin` (with every POST); other clients send neither.
 */
export function refuseForeignPage(
  header: (name: string) => string | undefined,
  allowedOrigins: readonly string[],
): void {
  const origin = header('origin');
  if (origin !== undefined && allowedOrigins.includes(origin)) return;
  const isOtherSite = ['cross-site', 'same-site'].includes(header('sec-fetch-site') ?? 'none');
  const isOtherOrigin = origin !== undefined && hostOf(origin) !== header('host');
  if (!isOtherSite && !isOtherOrigin) return;
  throw new ServiceError('permission_denied', 'A web page of another origin may not run SQL here.', {
    hint: 'Name the origin of the page in http.cors_origins, and let the page send the request with fetch().',
  });
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
