import type { ByteRange } from '@svc/frames';

/** The parts of a request that select bytes; the request of a Hono context has them. */
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

/** Whether a list of etags has this one. A weak tag counts only in a weak comparison. */
function hasTag(list: string, etag: string, isWeak: boolean): boolean {
  const tags = list.split(',').map((tag) => tag.trim());
  return tags.some((tag) => tag === '*' || tag === etag || (isWeak && tag === `W/${etag}`));
}

const RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/** A range that is malformed, of another unit, or a list of several is ignored, as RFC 9110 allows. */
function parseRange(header: string, bytes: number): SelectedBytes {
  const [, first = '', last = ''] = RANGE.exec(header.trim()) ?? [];
  if (first === '' && last === '') return { kind: 'whole' };
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? bytes : Math.min(bytes, Number(last) + 1);
  if (first !== '' && last !== '' && Number(last) < start) return { kind: 'whole' };
  return start < end ? { kind: 'range', range: { start, end } } : { kind: 'not_satisfiable' };
}
