import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { ByteRange } from '@svc/frames';
import type { RequestContext } from './request-context.ts';

const GZIP_SUFFIX = '-gzip';
/** The version of a frame, and for some files a checksum. */
const ETAG = new RegExp(`^(?:W/)?"([0-9A-Za-z-]+?)(?:${GZIP_SUFFIX}|\\.[0-9a-f]+)?"$`);

/** Returns the ETag of a version; a compressed response has a different one. */
export function etagOf(version: string, isCompressed = false): string {
  return `"${version}${isCompressed ? GZIP_SUFFIX : ''}"`;
}

/** Returns the ETag of this version from an `If-None-Match` header, in any encoding; undefined if it is not there. */
export function matchingEtag(header: string | undefined, version: string): string | undefined {
  if (header === undefined) return undefined;
  const tags = header.split(',').map((tag) => tag.trim());
  if (tags.includes('*')) return etagOf(version);
  return tags.find((tag) => versionOf(tag) === version)?.replace(/^W\//, '');
}

/** Returns the version in an `If-Match` header; `*` for any. */
export function parseIfMatch(header: string): string {
  const version = header.trim() === '*' ? '*' : versionOf(header.trim());
  if (version !== undefined) return version;
  throw new ServiceError('invalid_argument', `If-Match: ${quoted(header)} is not one etag of a frame.`, {
    hint: 'Send the ETag of the frame exactly as the server returned it, including the double quotes.',
  });
}

function versionOf(tag: string): string | undefined {
  return ETAG.exec(tag)?.[1];
}

/** Refuses conditional headers: ignoring one would look as if the condition held. */
export function refuseConditions({ c }: RequestContext): void {
  for (const name of ['If-Match', 'If-None-Match', 'If-Unmodified-Since']) {
    if (c.req.header(name) === undefined) continue;
    throw new ServiceError('invalid_argument', `${name} is not supported for ${c.req.method}.`, {
      hint: `Send the request without ${name}; conditions work with PUT.`,
    });
  }
}

/** The method and headers of a request; the request of a Hono context has them. */
export interface ConditionalRequest {
  readonly method: string;
  header(name: string): string | undefined;
}

/** What to send of a file. */
export type SelectedBytes =
  | { readonly kind: 'whole' | 'not_modified' | 'precondition_failed' | 'not_satisfiable' }
  | { readonly kind: 'range'; readonly range: ByteRange };

/**
 * Evaluates `If-Match`, `If-None-Match`, `If-Range` and `Range` in the order of RFC 9110, section 13.2.2, for a file with
 * this etag and length. Dates never match: files have no `Last-Modified`.
 */
export function selectBytes(request: ConditionalRequest, etag: string, bytes: number): SelectedBytes {
  const ifMatch = request.header('if-match');
  if (ifMatch !== undefined && !hasTag(ifMatch, etag, false)) return { kind: 'precondition_failed' };
  const ifNoneMatch = request.header('if-none-match');
  if (ifNoneMatch !== undefined && hasTag(ifNoneMatch, etag, true)) return { kind: 'not_modified' };
  const range = request.header('range');
  // Only GET defines ranges.
  if (range === undefined || request.method !== 'GET') return { kind: 'whole' };
  const ifRange = request.header('if-range');
  if (ifRange !== undefined && ifRange.trim() !== etag) return { kind: 'whole' };
  return parseRange(range, bytes);
}

/** True if a list of etags has this one. A weak tag counts only in a weak comparison. */
function hasTag(list: string, etag: string, isWeak: boolean): boolean {
  const tags = list.split(',').map((tag) => tag.trim());
  return tags.some((tag) => tag === '*' || tag === etag || (isWeak && tag === `W/${etag}`));
}

const RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/** Ignores a malformed range, another unit and a list of ranges, as RFC 9110 allows. */
function parseRange(header: string, bytes: number): SelectedBytes {
  const [, first = '', last = ''] = RANGE.exec(header.trim()) ?? [];
  if (first === '' && last === '') return { kind: 'whole' };
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? bytes : Math.min(bytes, Number(last) + 1);
  if (first !== '' && last !== '' && Number(last) < start) return { kind: 'whole' };
  return start < end ? { kind: 'range', range: { start, end } } : { kind: 'not_satisfiable' };
}
