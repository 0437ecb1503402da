import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { createYield } from '@svc/frames/internal';
import { type Params, parseForm } from './query-string.ts';
import { readText } from './read-text.ts';
import { openBody } from './request-body.ts';
import type { RequestContext } from './request-context.ts';

/** Far more than fits in the URL in which the SQL is forwarded. */
const MAX_BYTES = 1024 * 1024;
const FORM = 'application/x-www-form-urlencoded';
const PLAIN = ['application/sql', 'text/plain'];

/** Whether the body of a request is a form. */
export function isForm(request: Request): boolean {
  return mediaTypeOf(request) === FORM;
}

function mediaTypeOf({ headers }: Request): string {
  return headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Reads the parameters in the body of `POST /exec`: plain SQL, or a form. */
export async function sqlParams(context: RequestContext): Promise<Params> {
  const request = context.c.req.raw;
  const mediaType = mediaTypeOf(request);
  if (mediaType !== FORM && !PLAIN.includes(mediaType)) {
    const contentType = request.headers.get('content-type') ?? '';
    const given =
      contentType === '' ? 'Content-Type is missing' : `Content-Type ${quoted(contentType)} is not supported for SQL`;
    throw new ServiceError('unsupported_media_type', `${given}.`, {
      hint: `Send the SQL as ${PLAIN.join(' or ')}, or as the field query of ${FORM}.`,
    });
  }
  // Each pass over a long text takes milliseconds.
  const pause = createYield();
  const text = await readText(openBody(context), MAX_BYTES, 'Send shorter SQL.');
  await pause();
  const params: Params = mediaType === FORM ? parseForm(text) : [['query', text]];
  await pause();
  return params;
}
