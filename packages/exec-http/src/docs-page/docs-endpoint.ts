import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { EndpointResponse } from '../endpoint-response.ts';
import type { HandlersOf } from '../endpoint.ts';
import { PAGE_FILES } from '../endpoints/parameters.ts';
import { matchingEtag } from '../etag.ts';
import { lastSegment } from '../query-string.ts';
import type { RequestContext } from '../request-context.ts';

const PAGE = new URL('../../web/docs.html', import.meta.url);

const FILES: Readonly<Record<(typeof PAGE_FILES)[number], URL>> = {
  'docs.css': new URL('../../web/docs.css', import.meta.url),
  'docs.js': new URL('../../web/docs.js', import.meta.url),
  'operation.js': new URL('../../web/operation.js', import.meta.url),
  'request.js': new URL('../../web/request.js', import.meta.url),
};

/** The page runs only its own files, talks only to this server, and cannot be framed. */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

/** A file as it is sent. */
interface SentFile {
  readonly bytes: Uint8Array;
  readonly version: string;
}

/** Handles `/docs`, the description of the API as a page, and `/docs/{file}`. Files are read for the first request. */
export function docsHandlers(): { readonly page: HandlersOf<'GET'>; readonly file: HandlersOf<'GET'> } {
  const files = new Map<string, Promise<SentFile>>();

  async function send({ c }: RequestContext, url: URL): Promise<EndpointResponse> {
    const sent = files.get(url.href) ?? readSent(url);
    files.set(url.href, sent);
    const { bytes, version } = await sent.catch((error: unknown) => {
      files.delete(url.href);
      throw error;
    });
    const headers = { ...HEADERS, 'content-type': contentType(url.pathname) };
    const etag = matchingEtag(c.req.header('if-none-match'), version);
    return etag === undefined ? { headers, body: bytes, version } : { status: 304, headers: { ...headers, etag } };
  }

  return {
    page: { GET: (context) => send(context, PAGE) },
    file: {
      GET: (context) => {
        const name = lastSegment(context.c.req.url);
        const known = PAGE_FILES.find((file) => file === name);
        if (known !== undefined) return send(context, FILES[known]);
        throw new ServiceError('route_not_found', `There is no file ${quoted(name)}.`, {
          hint: 'GET /docs is the page.',
        });
      },
    },
  };
}

async function readSent(url: URL): Promise<SentFile> {
  const bytes = await readFile(url);
  return { bytes, version: createHash('sha256').update(bytes).digest('hex').slice(0, 32) };
}

function contentType(path: string): string {
  if (path.endsWith('.html')) return 'text/html; charset=utf-8';
  return path.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
}
