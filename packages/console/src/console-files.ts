import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliDecompress, constants, gzip } from 'node:zlib';
import { type Encoding, encodingFor, matchesEtag } from './negotiation.ts';

/** Each file is there once, as Brotli: the smallest package. */
const FOLDER = new URL('../web/', import.meta.url);
const SUFFIX = '.br';
const PAGE = 'index.html';

/** The page runs only its own files, talks only to its server, and cannot be framed. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // When typed text replaces a selection, Chromium writes a style attribute.
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The name of each file but the page has a hash of its content. */
const FOREVER = 'public, max-age=31536000, immutable';

/** The request headers behind the response. */
export interface ConsoleRequest {
  readonly acceptEncoding?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

/** A response with a file, or with 304. */
export interface ConsoleResponse {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Compressed as `content-encoding` says. Undefined: no body. */
  readonly body?: Uint8Array<ArrayBuffer>;
}

/** The files of the console, for servers with their own routes. */
export interface ConsoleFiles {
  /** The page. Its addresses are relative: its own path ends with a slash. */
  page(request: ConsoleRequest): Promise<ConsoleResponse>;
  /** A file of `console/assets/` below the page; undefined if there is none. */
  asset(name: string, request: ConsoleRequest): Promise<ConsoleResponse | undefined>;
}

interface StoredFile {
  readonly etag: string;
  /** The bytes in an encoding. */
  encoded(encoding: Encoding): Promise<Uint8Array<ArrayBuffer>>;
}

/** Creates the files of the console. Nothing is read before the first request. */
export function createConsoleFiles(): ConsoleFiles {
  const names = remembered(() => readdir(FOLDER));
  const files = new Map<string, () => Promise<StoredFile>>();

  async function send(name: string, request: ConsoleRequest, cacheControl: string): Promise<ConsoleResponse> {
    const open = files.get(name) ?? remembered(() => openFile(new URL(`${name}${SUFFIX}`, FOLDER)));
    files.set(name, open);
    const file = await open();
    const [extension = ''] = /[^.]*$/.exec(name) ?? [];
    const shared = { ...HEADERS, 'cache-control': cacheControl, vary: 'accept-encoding', etag: file.etag };
    if (matchesEtag(request.ifNoneMatch, file.etag)) return { status: 304, headers: shared };
    const encoding = encodingFor(request.acceptEncoding);
    const headers: Record<string, string> = {
      ...shared,
      'content-type': TYPES[extension] ?? 'application/octet-stream',
    };
    if (encoding !== 'identity') headers['content-encoding'] = encoding;
    return { status: 200, headers, body: await file.encoded(encoding) };
  }

  return {
    page: async (request) => {
      const response = await send(PAGE, request, 'no-cache');
      // The same path may have something else for other clients.
      return { ...response, headers: { ...response.headers, vary: 'accept, accept-encoding' } };
    },
    asset: async (name, request) => {
      const isKnown = name !== PAGE && (await names()).includes(`${name}${SUFFIX}`);
      return isKnown ? send(name, request, FOREVER) : undefined;
    },
  };
}

async function openFile(url: URL): Promise<StoredFile> {
  const packed = await readFile(url);
  const hash = createHash('sha256').update(packed).digest('hex').slice(0, 32);
  const plain = async (): Promise<Uint8Array<ArrayBuffer>> => promisify(brotliDecompress)(packed);
  const zipped = remembered(async () => promisify(gzip)(await plain(), { level: constants.Z_BEST_COMPRESSION }));
  return {
    // Weak: one for all encodings.
    etag: `W/"${hash}"`,
    encoded: async (encoding) => {
      if (encoding === 'br') return packed;
      return encoding === 'gzip' ? zipped() : plain();
    },
  };
}

/** Caches the result of a function; a failure is not remembered. */
function remembered<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return async () => {
    result ??= work();
    try {
      return await result;
    } catch (error) {
      result = undefined;
      throw error;
    }
  };
}
