import { quoted, ServiceError } from '@svc/errors';

const GZIP_SUFFIX = '-gzip';
const ETAG = new RegExp(`^(?:W/)?"([0-9A-Za-z-]+?)(?:${GZIP_SUFFIX})?"$`);

/** The etag of a version; a compressed answer has its own. */
export function etagOf(version: string, isCompressed = false): string {
  return `"${version}${isCompressed ? GZIP_SUFFIX : ''}"`;
}

/** The etag of an `If-None-Match` header that names this version, in any encoding; undefined where none does. */
export function matchingEtag(header: string | undefined, version: string): string | undefined {
  if (header === undefined) return undefined;
  const tags = header.split(',').map((tag) => tag.trim());
  if (tags.includes('*')) return etagOf(version);
  return tags.find((tag) => versionOf(tag) === version)?.replace(/^W\//, '');
}

/** The one version an `If-Match` header names; `*` for any. */
export function parseIfMatch(header: string): string {
  const version = header.trim() === '*' ? '*' : versionOf(header.trim());
  if (version !== undefined) return version;
  throw new ServiceError('invalid_argument', `If-Match: ${quoted(header)} is not one etag of a frame.`, {
    hint: 'Send the etag of the frame as an answer gave it, double quotes included.',
  });
}

function versionOf(tag: string): string | undefined {
  return ETAG.exec(tag)?.[1];
}
