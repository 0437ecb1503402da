import { parseAccept } from 'hono/utils/accept';

/** The encodings of the files, the smallest first. */
const ENCODINGS = ['br', 'gzip', 'identity'] as const;

/** The encoding of a response. */
export type Encoding = (typeof ENCODINGS)[number];

/** True if a request asks for a page: browsers do, other clients take anything. */
export function wantsPage(accept: string | undefined): boolean {
  const accepted = parseAccept(accept ?? '');
  const quality = (type: string): number => accepted.find((one) => one.type.toLowerCase() === type)?.q ?? 0;
  return quality('text/html') > 0 && quality('text/html') >= quality('text/plain');
}

/** Returns the smallest encoding accepted by a client. */
export function encodingFor(acceptEncoding: string | undefined): Encoding {
  const accepted = new Map(parseAccept(acceptEncoding ?? '').map(({ type, q }) => [type.toLowerCase(), q]));
  return ENCODINGS.find((encoding) => (accepted.get(encoding) ?? accepted.get('*') ?? 0) > 0) ?? 'identity';
}

/** True if an `If-None-Match` header names an ETag. Both may be weak. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = new Set((ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, '')));
  return tags.has('*') || tags.has(etag.replace(/^W\//, ''));
}
