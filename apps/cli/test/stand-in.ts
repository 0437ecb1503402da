import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach } from 'vitest';

/** A server on a free port of 127.0.0.1 whose responses a test defines. */
export interface StandIn {
  readonly url: string;
  /** The requests, such as `GET /ping`. */
  readonly requests: readonly string[];
}

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** Starts one; it ends with the test. */
export async function startStandIn(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<StandIn> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    void answer(request, response);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  closers.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** Starts a TCP server that sends one text to every client, HTTP or not; it ends with the test. */
export function startRawStandIn(says: string): Promise<string> {
  return startTcpStandIn((socket) => void socket.write(says));
}

/** Starts a TCP server that handles every connection this way; it ends with the test. */
export async function startTcpStandIn(meet: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    meet(socket);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  closers.push(
    () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The URL of a port that nothing listens on. */
export async function unusedUrl(): Promise<string> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

/** The whole body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

/** Answers with JSON. */
export function sendJson(response: ServerResponse, body: unknown, status = 200, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Returns a response of /exec with these rows of two columns. */
export function tableOf(rows: readonly unknown[][], more: object = {}): object {
  const columns = [
    { name: 'id', type: 'LONG' },
    { name: 's', type: 'STRING' },
  ];
  return { query: 'handle:t', columns, dataset: rows, count: rows.length, ...more };
}
