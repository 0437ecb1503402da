import { createHash } from 'node:crypto';
import { ENCODINGS } from '@svc/frames';
import type { Service } from '@svc/service';
import type { HandlersOf } from '../endpoint.ts';
import type { EndpointTable } from '../endpoints/endpoint-table.ts';
import { matchingEtag } from '../etag.ts';

/** What `/openapi.json` describes. */
export interface OpenApiOptions {
  readonly service: Service;
  /** Every path of the server. */
  readonly table: EndpointTable;
  /** Whether requests have callers. */
  readonly hasCallers: boolean;
  /** Whether the host authenticates them. */
  readonly isHostAuthenticated: boolean;
}

/** A document as it is sent. */
interface SentDocument {
  readonly basePath: string;
  readonly bytes: Uint8Array;
  readonly version: string;
}

/** Handles `/openapi.json`. The document is made for the first request, and kept. */
export function openApiHandlers(options: OpenApiOptions): HandlersOf<'GET'> {
  let kept: SentDocument | undefined;
  return {
    GET: async ({ c }) => {
      const basePath = c.req.path.replace(/\/openapi\.json$/, '');
      if (kept?.basePath !== basePath) kept = await createSent(basePath, options);
      const { bytes, version } = kept;
      const headers = { 'content-type': ENCODINGS.json.out.contentType, 'cache-control': 'no-cache' };
      const etag = matchingEtag(c.req.header('if-none-match'), version);
      return etag === undefined ? { headers, body: bytes, version } : { status: 304, headers: { ...headers, etag } };
    },
  };
}

async function createSent(basePath: string, options: OpenApiOptions): Promise<SentDocument> {
  const { service, table, hasCallers, isHostAuthenticated } = options;
  const { createDocument } = await import('./document.ts');
  const document = createDocument(table, {
    version: service.version,
    basePath,
    hasCallers,
    hasTokens: hasCallers && !isHostAuthenticated,
    uploadFormats: service.uploadFormats,
    hasParquet: service.encodeParquet !== undefined,
    hasTsdb: service.hasTsdb,
  });
  const bytes = new TextEncoder().encode(JSON.stringify(document));
  return { basePath, bytes, version: createHash('sha256').update(bytes).digest('hex').slice(0, 32) };
}
