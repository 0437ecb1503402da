import { ServiceError } from '@svc/errors';
import type { TsdbPassRequest, TsdbRequest } from './tsdb-proxy.ts';

/** The longest request target, in bytes. QuestDB closes the connection without a response from 32 211 bytes on. */
export const MAX_TARGET_BYTES = 32_000;

/** Returns the request target below a base URL: path and encoded parameters, as sent over the wire. */
export function requestTarget(base: URL, request: TsdbRequest | TsdbPassRequest): string {
  const target = `${base.pathname.replace(/\/+$/, '')}${'target' in request ? request.target : encodedTarget(request)}`;
  if (target.length > MAX_TARGET_BYTES) throw tooLong(String(target.length));
  return target;
}

function tooLong(length: string): ServiceError {
  return new ServiceError(
    'uri_too_long',
    `The encoded request has ${length} bytes; the time-series database accepts at most ${MAX_TARGET_BYTES}.`,
  );
}

function encodedTarget({ path, params }: TsdbRequest): string {
  // Encoding makes no text shorter, and takes long for a megabyte.
  const length = params.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (length > MAX_TARGET_BYTES) throw tooLong(`more than ${length}`);
  return `${path}?${params.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')}`;
}

/** Encodes everything that a URL parser would encode, so that the length is the length on the wire. */
function encode(text: string): string {
  try {
    return encodeURIComponent(text).replaceAll("'", '%27');
  } catch (error) {
    throw new ServiceError(
      'invalid_argument',
      'A parameter contains an unpaired surrogate, which is not valid Unicode.',
      {
        hint: 'Send the SQL as valid UTF-8.',
        cause: error,
      },
    );
  }
}
