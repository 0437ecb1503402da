import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/frames';

const GZIP_SUFFIX = '-gzip';

/** The etag of a version; a compressed answer has its own. */
export function etagOf(version: string, isCompressed = false): string {
  return `"${version}${isCompressed ? GZIP_SUFFIX : ''}"`;
}

/** Whether an `If-None-Match` header names this version, in any encoding. */
export function namesVersion(header: string | undefined, version: string): boolean {
  return (header ?? '').split(',').some((tag) => tag.trim() === '*' || versionOf(tag) === version);
}

/** The one version an `If-Match` header names; `*` for any. */
export function parseIfMatch(header: string): string {
  if (header.trim() === '*') return '*';
  const version = versionOf(header);
  if (version !== undefined) return version;
  throw new ServiceError('invalid_argument', `If-Match: ${quoted(header)} is not one etag of a frame.`, {
    hint: 'Send the etag of the frame as an answer gave it, double quotes included.',
  });
}

function versionOf(tag: string): string | undefined {
  return /^(?:W\/)?"([0-9A-Z]+)(?:-gzip)?"$/.exec(tag.trim())?.[1];
}
