import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import { onTestFinished } from 'vitest';
import {
  createTsdbProxy,
  type TsdbResponse,
  type TsdbProxy,
  type TsdbProxyOptions,
  type TsdbRequest,
} from '../index.ts';

/** A stand-in for the database on a free loopback port; it is closed when the test ends. */
export interface StandIn {
  readonly port: number;
  readonly url: string;
  /** The connections accepted so far, open or not. */
  readonly sockets: readonly Socket[];
}

/** A stand-in based on Node's HTTP server. */
export function httpStandIn(listener: RequestListener, host?: string): Promise<StandIn> {
  return listen(createHttpServer({ keepAliveTimeout: 60_000, maxHeaderSize: 64 * 1024 }, listener), { host });
}

/** A stand-in that speaks HTTP over TLS. */
export function httpsStandIn(options: ServerOptions, listener: RequestListener, host?: string): Promise<StandIn> {
  return listen(createHttpsServer(options, listener), { scheme: 'https', host });
}

/** A stand-in that calls `answer` for each request. */
export function rawStandIn(answer: (socket: Socket, head: string) => void): Promise<StandIn> {
  return socketStandIn((socket) => {
    let received = '';
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1');
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = received.slice(0, end);
      received = received.slice(end + 4);
      answer(socket, head);
    });
  });
}

/** A stand-in that gets the raw connections. */
export function socketStandIn(onConnection: (socket: Socket) => void): Promise<StandIn> {
  return listen(createServer(onConnection));
}

/** A stand-in that is gone: its port refuses connections. */
export async function closedStandIn(): Promise<StandIn> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  server.close();
  await once(server, 'close');
  return { port, url: `http://127.0.0.1:${port}`, sockets: [] };
}

interface Place {
  readonly scheme?: 'http' | 'https';
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined;
}

async function listen(server: Server, { scheme = 'http', host = '127.0.0.1' }: Place = {}): Promise<StandIn> {
  const sockets: Socket[] = [];
  server.prependListener('connection', (socket: Socket) => {
    sockets.push(socket);
    // Many tests break the connection.
    socket.on('error', () => undefined);
  });
  server.listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const port = portOf(server);
  return { port, url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`, sockets };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port');
  return address.port;
}

/** A proxy that is closed when the test ends. */
export function proxyTo(standIn: Pick<StandIn, 'url'>, options: Partial<TsdbProxyOptions> = {}): TsdbProxy {
  const proxy = createTsdbProxy({ url: standIn.url, ...options });
  onTestFinished(() => proxy.close());
  return proxy;
}

/** A call, aborted by the given signal or never. */
export function aCall(signal: AbortSignal = new AbortController().signal): Call {
  return { tenant: 'default', requestId: 'r-1', signal };
}

/** The request for one statement. */
export function sql(query: string): TsdbRequest {
  return {
    path: '/exec',
    params: [
      ['query', query],
      ['fmt', 'json'],
    ],
  };
}

/** The whole body. */
export async function bytesOf(response: Pick<TsdbResponse, 'body'>): Promise<Buffer> {
  return Buffer.from(await new Response(response.body).arrayBuffer());
}

/** The `ServiceError` a promise fails with. */
export async function failureOf(promise: Promise<unknown>): Promise<ServiceError> {
  const failure: unknown = await promise.then(
    () => 'no failure',
    (error: unknown) => error,
  );
  if (failure instanceof ServiceError) return failure;
  throw new Error('expected a ServiceError', { cause: failure });
}

/** A promise with its `resolve`. */
export function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  const resolvers: ((value: T) => void)[] = [];
  const promise = new Promise<T>((resolve) => {
    resolvers.push(resolve);
  });
  return { promise, resolve: (value) => resolvers[0]?.(value) };
}

/** Waits until a connection is closed, by either side. */
export async function closed(socket: Socket | undefined): Promise<void> {
  if (socket === undefined) throw new Error('there was no connection');
  if (socket.closed) return;
  await new Promise((resolve) => {
    socket.once('close', resolve);
  });
}
