import { writeRequest, writtenFrame } from '@svc/client/internal';
import type { Api } from './api.ts';
import type { FrameInfo } from './types.ts';

/** What to do with a file: `create` refuses a handle that is taken. */
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

/** Returns a `fetch` of the parts that an upload needs, which says how many bytes it has sent: that of the browser cannot. */
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
