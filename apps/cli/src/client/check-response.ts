import { invalidResponse } from '../errors/cli-error.ts';

/** The checks that a response must pass before it is used. */
export interface ExpectedResponse {
  /** Default: only 200. */
  readonly statuses?: readonly number[];
  /** The content type; only its media type counts. Omitted if the reader of the body checks it anyway. */
  readonly contentType?: string;
}

/** Refuses a successful response of the wrong kind, such as the HTML page of a proxy. */
export function checkResponse(
  { status, headers }: { readonly status: number; readonly headers: Headers },
  { statuses = [200], contentType }: ExpectedResponse,
): void {
  if (!statuses.includes(status)) throw invalidResponse(`its status is ${status}, not ${statuses.join(' or ')}`);
  if (contentType === undefined) return;
  const expected = mediaType(contentType);
  const actual = mediaType(headers.get('content-type') ?? '');
  if (actual === expected) return;
  throw invalidResponse(
    actual === '' ? `it has no content type, and should be ${expected}` : `it is ${actual}, not ${expected}`,
  );
}

function mediaType(contentType: string): string {
  return contentType
    .replace(/;[^]*$/, '')
    .trim()
    .toLowerCase();
}
