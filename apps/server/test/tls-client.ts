import { once } from 'node:events';
import { request, type RequestOptions } from 'node:https';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import type { ServerProcess } from './server-process.ts';

/** A response, read to its end. */
export interface TlsResponse {
  readonly status: number | undefined;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
}

/** Sends a request over TLS on a connection of its own. */
export async function fetchTls(
  server: ServerProcess,
  path: string,
  { body, ...options }: RequestOptions & { readonly body?: string | Uint8Array } = {},
): Promise<TlsResponse> {
  const sent = request(`${server.url}${path}`, { agent: false, ...options });
  sent.end(body);
  const [response] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
}

/** Opens a TLS connection to a port of this machine; it ends with the test. */
export async function connectTls(port: number, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

/** The names of the certificate that a port shows. */
export async function certificateOf(port: number, options: ConnectionOptions): Promise<string | undefined> {
  const socket = await connectTls(port, options);
  const names = socket.getPeerX509Certificate()?.subjectAltName;
  socket.destroy();
  return names;
}
