import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';

/** What a proxy does with a server's answers. */
export interface ProxyOptions {
  /** Returns the path at the server. Default: the same. */
  readonly pathOf?: (path: string) => string;
  /** Sends an answer on. Default: as it is. */
  readonly send?: (answer: IncomingMessage, outgoing: ServerResponse, path: string) => void;
}

/** Starts a proxy before a server until the test ends; returns its address. */
export async function startProxy(target: string, options: ProxyOptions = {}): Promise<string> {
  const { pathOf = (path) => path, send = (answer, outgoing) => answer.pipe(outgoing) } = options;
  const { hostname, port } = new URL(target);
  const proxy = createServer((incoming, outgoing) => {
    const { method, headers, url = '/' } = incoming;
    const path = pathOf(url);
    const forwarded = request({ hostname, port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      send(answer, outgoing, path);
    });
    incoming.pipe(forwarded.on('error', () => outgoing.destroy()));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const address = proxy.address();
  if (typeof address !== 'object' || address === null) throw new Error('The proxy has no port.');
  return `http://127.0.0.1:${address.port}/`;
}
