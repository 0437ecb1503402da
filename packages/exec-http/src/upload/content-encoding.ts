import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { CONTENT_CODINGS, type ContentCoding } from '@svc/frames';

/** Older names of codings. */
const ALIASES: Readonly<Record<string, string>> = { 'x-gzip': 'gzip', 'x-zstd': 'zstd' };

/** Parses `Content-Encoding`; undefined if the body is not compressed. */
export function parseContentEncoding(header: string | undefined): ContentCoding | undefined {
  const names = (header ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  const [first = ''] = names;
  const coding = CONTENT_CODINGS.find((name) => name === (ALIASES[first] ?? first));
  if (names.length === 0 || (coding !== undefined && names.length === 1)) return coding;
  const what = names.length > 1 ? 'has more than one coding' : 'is not supported';
  throw new ServiceError('unsupported_media_type', `Content-Encoding: ${quoted(header ?? '')} ${what}.`, {
    hint: `Compress the body once, with ${CONTENT_CODINGS.join(' or ')}, or send it as it is.`,
  });
}
