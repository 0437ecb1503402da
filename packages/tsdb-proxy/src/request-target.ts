import { ServiceError } from '@svc/errors';
import type { TsdbRequest } from './tsdb-proxy.ts';

/** The longest request target, in bytes. QuestDB closes the connection without a word from 32 211 on. */
export const MAX_TARGET_BYTES = 32_000;

/** The request target below a base URL: path and encoded parameters, as they go over the wire. */
export function requestTarget(base: URL, request: TsdbRequest): string {
  const query = request.params.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  const target = `${base.pathname.replace(/\/+$/, '')}${request.path}?${query}`;
  if (target.length > MAX_TARGET_BYTES) {
    throw new ServiceError(
      'uri_too_long',
      `The encoded request has ${target.length} bytes; the time-series database takes at most ${MAX_TARGET_BYTES}.`,
    );
  }
  return target;
}

/** Leaves nothing that a URL parser would encode once more, so that the length is that on the wire. */
function encode(text: string): string {
  try {
    return encodeURIComponent(text).replaceAll("'", '%27');
  } catch (error) {
    throw new ServiceError('invalid_argument', 'A parameter holds half a surrogate pair, which is no Unicode text.', {
      hint: 'Send the SQL as valid UTF-8.',
      cause: error,
    });
  }
}
