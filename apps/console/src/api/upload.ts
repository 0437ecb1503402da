import { writeRequest, writtenFrame } from '@svc/client/internal';
import { type Api, type FrameInfo, HANDLE } from './api.ts';

/** What to do with a file: `create` refuses an existing handle. */
export type UploadMode = 'create' | 'replace' | 'append';

/** A file, and how the server reads it. */
export interface Upload {
  readonly handle: string;
  readonly file: Blob;
  readonly mode: UploadMode;
  /** Parameters of the request: `fmt`, `ttl`, `delimiter`, … */
  readonly params: Readonly<Record<string, string>>;
  /** How the file is compressed, if it is. */
  readonly encoding?: 'gzip' | 'zstd' | undefined;
}

/** Sends a file, and returns the metadata of its frame. */
export async function sendFile(
  api: Api,
  { handle, file, mode, params, encoding }: Upload,
  { sent, signal }: { readonly sent: (bytes: number) => void; readonly signal: AbortSignal },
): Promise<FrameInfo> {
  const target = { method: mode === 'append' ? 'POST' : 'PUT', handle } as const;
  const request = writeRequest(target, { body: file }, { params, encoding, ifNew: mode === 'create', signal });
  return writtenFrame(await api.by(fetchWithProgress(sent)).send(request));
}

/** Returns a `fetch` with upload progress. The browser's own reports none. It has only what uploads need. */
function fetchWithProgress(sent: (bytes: number) => void): typeof fetch {
  return (address, { method = 'GET', headers, body, signal } = {}) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(method, address instanceof Request ? address.url : address);
      new Headers(headers).forEach((value, name) => request.setRequestHeader(name, value));
      request.upload.addEventListener('progress', ({ loaded }) => sent(loaded));
      request.addEventListener('load', () => resolve(responseOf(request)));
      request.addEventListener('error', () => reject(new TypeError('The connection to the server was lost.')));
      request.addEventListener('abort', () => reject(new DOMException('The upload was cancelled.', 'AbortError')));
      signal?.addEventListener('abort', () => request.abort(), { once: true });
      request.send(body instanceof Blob ? body : null);
    });
}

function responseOf(request: XMLHttpRequest): Response {
  const { status, responseText } = request;
  const lines = request.getAllResponseHeaders().trim().split(/\r?\n/);
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const [name = '', ...value] = line.split(': ');
      return [name, value.join(': ')];
    }),
  );
  return new Response(responseText, { status, headers });
}

/** The options of an upload, as the form has them; an empty text means the server's default. */
export interface UploadOptions {
  readonly handle: string;
  readonly mode: UploadMode;
  /** The format; empty: the server recognizes it. */
  readonly format: string;
  readonly ttl: string;
  readonly delimiter: string;
  readonly header: '' | 'true' | 'false';
  readonly nullText: string;
  readonly encoding: string;
  readonly skip: string;
  readonly dateFormat: string;
  readonly timestampFormat: string;
  /** Names and types of columns: `id:LONG,name:STRING`. */
  readonly columns: string;
}

/** The formats by the ends of file names. */
const FORMATS: Readonly<Record<string, string>> = {
  csv: 'csv',
  tsv: 'csv',
  txt: 'csv',
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  parquet: 'parquet',
  arrow: 'arrow',
  arrows: 'arrow',
  feather: 'arrow',
};

const COMPRESSIONS: Readonly<Record<string, 'gzip' | 'zstd'>> = { gz: 'gzip', gzip: 'gzip', zst: 'zstd', zstd: 'zstd' };

/** Text formats: names and types of columns can be given. */
export const isTextFormat = (format: string): boolean => ['', 'csv', 'json', 'ndjson'].includes(format);

/** Returns how a file is compressed, by its name. */
export function compressionOf(fileName: string): 'gzip' | 'zstd' | undefined {
  return COMPRESSIONS[endOf(fileName)];
}

/** Returns the options for a file, by its name: the end gives the format, the rest the handle. */
export function optionsFor(fileName: string): UploadOptions {
  const plain = compressionOf(fileName) ? fileName.slice(0, fileName.lastIndexOf('.')) : fileName;
  const end = endOf(plain);
  const stem = FORMATS[end] ? plain.slice(0, -end.length - 1) : plain;
  const handle = stem
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 128);
  return {
    handle: handle || 'data',
    mode: 'create',
    format: FORMATS[end] ?? '',
    ttl: '',
    delimiter: end === 'tsv' ? '\t' : '',
    header: '',
    nullText: '',
    encoding: '',
    skip: '',
    dateFormat: '',
    timestampFormat: '',
    columns: '',
  };
}

function endOf(fileName: string): string {
  return /\.([^.]+)$/.exec(fileName)?.[1]?.toLowerCase() ?? '';
}

/** Returns what is wrong with options, in a sentence; undefined if nothing is. */
export function faultOf(options: UploadOptions, file: { readonly size: number }, maxBytes: number): string | undefined {
  const { handle, ttl, skip } = options;
  if (!HANDLE.test(handle))
    return 'A name has letters, digits and . _ -, begins with a letter or digit, and has at most 128.';
  if (ttl !== '' && !/^[1-9]\d{0,9}$/.test(ttl)) return 'The time to live is a number of seconds from 1.';
  if (skip !== '' && !/^\d{1,9}$/.test(skip)) return 'The lines to skip are a number from 0.';
  if (file.size > maxBytes) return `The file is larger than the ${maxBytes} bytes that the server takes.`;
  return undefined;
}

/** Returns the upload of a file with options. Options of other formats are left out. */
export function uploadOf(file: File, options: UploadOptions): Upload {
  const { handle, mode, format, ttl, columns } = options;
  const csv = {
    delimiter: options.delimiter,
    header: options.header,
    null: options.nullText,
    encoding: options.encoding,
    skip: options.skip,
    dateformat: options.dateFormat,
    timestampformat: options.timestampFormat,
  };
  const all = {
    fmt: format,
    // An append does not change when the frame expires.
    ttl: mode === 'append' ? '' : ttl,
    columns: isTextFormat(format) ? columns.trim() : '',
    ...(format === 'csv' && csv),
  };
  const params = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
  return { handle, file, mode, params, encoding: compressionOf(file.name) };
}
