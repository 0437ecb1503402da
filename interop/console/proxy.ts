import { once } from 'node:events';
import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';

/** What a proxy does with a server's answers. */
export interface ProxyOptions {
  /** Returns the path at the server. Default: the same. */
  readonly pathOf?: (path: string) => string;
  /** Sends the body of a request on. Default: as it is. */
  readonly receive?: (incoming: IncomingMessage, forwarded: ClientRequest) => void;
  /** Sends an answer on. Default: as it is. */
  readonly send?: (answer: IncomingMessage, outgoing: ServerResponse, path: string) => void;
}

/** Starts a proxy before a server until the test ends; returns its address. */
export async function startProxy(target: string, options: ProxyOptions = {}): Promise<string> {
  const { pathOf = (path) => path } = options;
  const { receive = (incoming, forwarded) => void incoming.pipe(forwarded) } = options;
  const { send = (answer, outgoing) => void answer.pipe(outgoing) } = options;
  const { hostname, port } = new URL(target);
  const proxy = createServer((incoming, outgoing) => {
    const { method, headers, url = '/' } = incoming;
    const path = pathOf(url);
    const forwarded = request({ hostname, port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      send(answer, outgoing, path);
    });
    forwarded.on('error', () => outgoing.destroy());
    receive(incoming, forwarded);
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
