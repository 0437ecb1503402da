import { ClientError } from './client-error.ts';

/** Returns the address of a server without a slash at its end. */
export function baseUrl(given: string | URL): string {
  // In a page, the URL may be a path of its own server.
  // Deno has a `location` that is undefined.
  const { location: page }: { readonly location?: Location } = globalThis;
  const url = URL.canParse(given, page?.href) ? new URL(given, page?.href) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') {
    return (url.origin + url.pathname).replace(/\/+$/, '');
  }
  // Not quoted: it may have a password.
  throw new ClientError('The URL of the server is not an http or https URL without a user name.', {
    code: 'invalid_argument',
    hint: 'Write it as http://localhost:9000.',
  });
}
