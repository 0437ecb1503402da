import { errorFromText, type Api } from './api.ts';
import { ServerGone } from './api-error.ts';
import { jsonOf } from './json-of.ts';
import type { FrameInfo } from './types.ts';
import { uniqueId } from './unique-id.ts';

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

/** Sends a file, and returns the metadata of its frame. `fetch` cannot say how much it has sent: this can. */
export function sendFile(
  api: Api,
  { handle, file, mode, params, encoding }: Upload,
  observe: { readonly sent: (bytes: number) => void; readonly signal: AbortSignal },
): Promise<FrameInfo> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(mode === 'append' ? 'POST' : 'PUT', api.url(`/frames/${encodeURIComponent(handle)}`, params));
    const headers = {
      ...api.authorization(),
      'x-request-id': uniqueId(),
      // Without a type the server recognizes the format by the first bytes. A browser would send that of the file's name.
      'content-type': 'application/octet-stream',
      ...(encoding && { 'content-encoding': encoding }),
      ...(mode === 'create' && { 'if-none-match': '*' }),
    };
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener('progress', ({ loaded }) => observe.sent(loaded));
    request.addEventListener('load', () => {
      const { status, responseText } = request;
      const requestId = request.getResponseHeader('x-request-id') ?? undefined;
      if (status >= 400) return reject(errorFromText(status, responseText, requestId));
      jsonOf<FrameInfo>(new Response(responseText)).then(resolve, () =>
        reject(new ServerGone('The answer of the server was cut off.')),
      );
    });
    request.addEventListener('error', () => reject(new ServerGone('The connection to the server was lost.')));
    request.addEventListener('abort', () => reject(new DOMException('The upload was cancelled.', 'AbortError')));
    observe.signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(file);
  });
}
