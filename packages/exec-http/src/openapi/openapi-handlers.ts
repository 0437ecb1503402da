import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { ENCODINGS } from '@svc/frames';
import { type Service, SQL_TARGETS } from '@svc/service';
import type { HandlersOf } from '../endpoints/add-endpoints.ts';
import type { EndpointTable } from '../endpoints/endpoint-table.ts';
import { PAGE_FILES } from '../endpoints/parameters.ts';
import { matchingEtag } from '../request/conditions.ts';
import { lastSegment } from '../request/query-string.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { EndpointResponse } from '../response/endpoint-response.ts';
import type { DescribedServer } from './document.ts';

/** Bytes, and their digest as the version. */
interface Sent {
  readonly bytes: Uint8Array;
  readonly version: string;
}

function sentOf(bytes: Uint8Array): Sent {
  return { bytes, version: createHash('sha256').update(bytes).digest('hex').slice(0, 32) };
}

/** Responds with bytes, or with 304 if the client has them already. */
function respond({ c }: RequestContext, { bytes, version }: Sent, headers: Record<string, string>): EndpointResponse {
  const etag = matchingEtag(c.req.header('if-none-match'), version);
  return etag === undefined ? { headers, body: bytes, version } : { status: 304, headers: { ...headers, etag } };
}

/**
 * Handles `/openapi.json`, which describes every path in `table`. The document is made for the first request, and kept.
 */
export function openApiHandlers(
  service: Service,
  table: EndpointTable,
  described: Pick<DescribedServer, 'defaultTarget' | 'hasCallers' | 'hasTokens'>,
): HandlersOf<'GET'> {
  let kept: (Sent & { readonly basePath: string }) | undefined;

  async function create(basePath: string): Promise<Sent & { readonly basePath: string }> {
    const { createDocument } = await import('./document.ts');
    const { version, uploadFormats, encodeParquet, hasTsdb, engines } = service;
    const targets = SQL_TARGETS.filter((name) => (name === 'tsdb' ? hasTsdb : engines.includes(name)));
    const hasParquet = encodeParquet !== undefined;
    const server = { ...described, version, basePath, targets, uploadFormats, hasParquet, hasTsdb };
    const bytes = new TextEncoder().encode(JSON.stringify(createDocument(table, server)));
    return { basePath, ...sentOf(bytes) };
  }

  return {
    GET: async (context) => {
      const basePath = context.c.req.path.replace(/\/openapi\.json$/, '');
      if (kept?.basePath !== basePath) kept = await create(basePath);
      return respond(context, kept, {
        'content-type': ENCODINGS.json.out.contentType,
        'cache-control': 'no-cache',
      });
    },
  };
}

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

/** Handles `/docs`, the description of the API as a page, and `/docs/{file}`. Files are read for the first request. */
export function docsHandlers(): { readonly page: HandlersOf<'GET'>; readonly file: HandlersOf<'GET'> } {
  const files = new Map<string, Promise<Sent>>();

  async function send(context: RequestContext, url: URL): Promise<EndpointResponse> {
    const sent = files.get(url.href) ?? readFile(url).then(sentOf);
    files.set(url.href, sent);
    try {
      return respond(context, await sent, { ...HEADERS, 'content-type': contentType(url.pathname) });
    } catch (error) {
      files.delete(url.href);
      throw error;
    }
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

function contentType(path: string): string {
  if (path.endsWith('.html')) return 'text/html; charset=utf-8';
  return path.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
}
