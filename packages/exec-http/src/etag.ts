import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { RequestContext } from './request-context.ts';

const GZIP_SUFFIX = '-gzip';
/** The version of a frame, and for some files a checksum. */
const ETAG = new RegExp(`^(?:W/)?"([0-9A-Za-z-]+?)(?:${GZIP_SUFFIX}|\\.[0-9a-f]+)?"$`);

/** Returns the ETag of a version; a compressed response has a different one. */
export function etagOf(version: string, isCompressed = false): string {
  return `"${version}${isCompressed ? GZIP_SUFFIX : ''}"`;
}

/** Returns the ETag of an `If-None-Match` header that names this version, in any encoding; undefined if none does. */
export function matchingEtag(header: string | undefined, version: string): string | undefined {
  if (header === undefined) return undefined;
  const tags = header.split(',').map((tag) => tag.trim());
  if (tags.includes('*')) return etagOf(version);
  return tags.find((tag) => versionOf(tag) === version)?.replace(/^W\//, '');
}

/** Returns the version that an `If-Match` header names; `*` for any. */
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
