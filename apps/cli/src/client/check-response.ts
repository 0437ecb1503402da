import { invalidResponse } from '../errors/cli-error.ts';

/** What an answer must be before anything of it is used. */
export interface ExpectedResponse {
  /** Default: 200 alone. */
  readonly statuses?: readonly number[];
  /** The content type; only its media type counts. Left out where whoever reads the body sees what it is. */
  readonly contentType?: string;
}

/** Refuses an answer of success that is not the one asked for: a page of a proxy, say. */
export function checkResponse(
  { status, headers }: { readonly status: number; readonly headers: Headers },
  { statuses = [200], contentType }: ExpectedResponse,
): void {
  if (!statuses.includes(status)) throw invalidResponse(`its status is ${status}, not ${statuses.join(' or ')}`);
  if (contentType === undefined) return;
  const expected = mediaType(contentType);
  const actual = mediaType(headers.get('content-type') ?? '');
  if (actual === expected) return;
  throw invalidResponse(actual === '' ? `it does not say that it is ${expected}` : `it is ${actual}, not ${expected}`);
}

function mediaType(contentType: string): string {
  return contentType
    .replace(/;[^]*$/, '')
    .trim()
    .toLowerCase();
}
