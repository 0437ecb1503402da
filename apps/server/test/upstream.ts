import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A stand-in for the time-series database; it ends with the test. */
export interface Upstream {
  readonly url: string;
  /** The requests, in order of arrival. */
  readonly requests: IncomingMessage[];
}

/** A stand-in that speaks HTTP. */
export async function startUpstream(answer: RequestListener): Promise<Upstream> {
  const requests: IncomingMessage[] = [];
  const server = createServer({ maxHeaderSize: 64 * 1024 }, (request, response) => {
    requests.push(request);
    answer(request, response);
  });
  onTestFinished(() => server.closeAllConnections());
  return { url: await listen(server), requests };
}

/** A stand-in that handles the raw connection. */
export async function startTcpUpstream(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
    onConnection(socket);
  });
  return listen(server);
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The address of a port that nothing listens on. */
export async function closedPort(): Promise<string> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

/** A promise and the function that settles it. */
export function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}
