import { type IncomingMessage, request } from 'node:http';

/** A request as sent over the wire. */
export interface RawRequest {
  readonly method?: string;
  /** Path and query string, byte for byte. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A complete response. */
export interface RawResponse {
  readonly status: number;
  readonly reason: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Sends a request on a new connection. Unlike `fetch`, it leaves the path alone and decodes nothing. Returns undefined if
 * the server closed the connection before the response was complete, or did not speak HTTP.
 */
export function ask(
  url: string,
  { method = 'GET', path, headers = {}, body }: RawRequest,
): Promise<RawResponse | undefined> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const sent = request({ hostname: hostname.replaceAll(/[[\]]/g, ''), port, method, path, headers, agent: false });
    sent.on('error', () => resolve(undefined));
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => resolve(undefined));
      response.on('end', () => resolve(rawResponse(response, Buffer.concat(chunks))));
    });
    sent.end(body);
  });
}

function rawResponse({ statusCode = 0, statusMessage = '', headers }: IncomingMessage, body: Buffer): RawResponse {
  const texts = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return { status: statusCode, reason: statusMessage, headers: Object.fromEntries(texts), body };
}
