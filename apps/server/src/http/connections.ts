import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { FindConnection, LimitedConnection } from '@svc/auth/internal';
import { createTurns, type Groups } from './turns.ts';

/** A request in flight, and its response. */
export interface RunningRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Whether the server waits for the body of a request: no response has started, and all that arrived is read. */
export function awaitsBody({ request, response }: RunningRequest): boolean {
  return !response.headersSent && !request.complete && request.readableLength === 0 && !request.isPaused();
}

/** The connections of an HTTP server, and the request in flight on each. */
export interface Connections {
  /** Returns the request in flight on a connection. */
  running(socket: Socket): RunningRequest | undefined;
  /** The requests in flight on all connections. */
  allRunning(): Iterable<RunningRequest>;
  /** The number of requests in flight. */
  inFlight(): number;
  /** The number of open connections. */
  count(): number;
  /** The number of connections since the start, also those in a TLS handshake. */
  accepted(): number;
  /** Answers a request after all earlier requests of its connection. */
  answer(request: IncomingMessage, response: ServerResponse): void;
  /** Runs a task after all earlier requests of the connection are answered; never if the connection closes first. */
  whenAnswered(socket: Socket, task: () => void): void;
  /** Whether the body of a request is still arriving. */
  isReceiving(socket: Socket): boolean;
  /** Whether the connection is paused because too many requests are queued on it. */
  isPaused(socket: Socket): boolean;
  /** From now on, connections are closed after their responses, and clients see that in the header `Connection`. */
  drain(): void;
  /**
   * Closes the connections that have had no request for `idleMs`. A younger one may have a request on its way. Node's
   * `closeIdleConnections` also cuts responses that have ended and wait for their client to read them.
   */
  endIdle(idleMs: number): void;
}

/** The state of one connection. */
interface Connection {
  readonly limited: LimitedConnection | undefined;
  running: RunningRequest | undefined;
  newest: IncomingMessage | undefined;
  readonly waiting: (() => void)[];
  isPaused: boolean;
  /** When it was accepted, or its last response ended, and the bytes read until then: more are a part of a request. */
  idleSince: number;
  idleBytes: number;
}

/**
 * The number of queued pipelined requests at which a connection is paused. Requests that Node has already received, up to
 * 64 KiB, still join the queue. A connection that is not paused notices when the client disconnects.
 */
const MAX_WAITING = 16;

/** What Node reports of a head that arrives too slowly. */
const LATE = Object.assign(new Error('The head is late.'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });

/** Requests that start in a turn of the event loop: few, because Node accepts one connection in a turn. */
const TURN_REQUESTS = 8;

/**
 * Requests of one caller wait for each other, and not for those of others. The credentials are not checked yet, and a client
 * can invent many: they take turns only within their address, which clients behind a proxy share.
 */
function groupsOf({ headers, socket }: IncomingMessage): Groups {
  return [socket.remoteAddress ?? '', headers.authorization ?? ''];
}

/** The event with a socket of requests. With TLS, `connection` has the socket below it. */
export function connectionEvent(server: Server): 'connection' | 'secureConnection' {
  return server instanceof TlsServer ? 'secureConnection' : 'connection';
}

/**
 * Answers the requests of each connection in order, one at a time. Node emits all pipelined requests at once: run
 * concurrently, thousands of them would buffer as many responses, and change frames in any order.
 */
export function serveInOrder(
  server: Server,
  find: FindConnection,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Connections {
  const connections = new Map<Socket, Connection>();
  const turns = createTurns(TURN_REQUESTS);
  let inFlight = 0;
  const accepted = countAccepted(server);
  let isDraining = false;
  server.on(connectionEvent(server), (socket: Socket) => {
    if (connections.has(socket)) return;
    const limited = find(socket);
    const connection = openConnection(socket, limited, () => connections.delete(socket));
    connections.set(socket, connection);
    if (limited === undefined) return;
    limited.isBusy = () => connection.running !== undefined || connection.waiting.length > 0;
    limited.close = () => {
      // A part of a head has arrived, and is too late.
      if (connection.newest === undefined && socket.bytesRead > 0) server.emit('clientError', LATE, socket);
      else socket.destroy();
    };
  });

  function enqueue(socket: Socket, task: () => void): void {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    if (connection.running === undefined && connection.waiting.length === 0) task();
    else wait(socket, connection, task);
  }

  function start(socket: Socket, running: RunningRequest): void {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    connection.running = running;
    running.response.once('close', () => {
      connection.running = undefined;
      connection.idleSince = performance.now();
      connection.idleBytes = socket.bytesRead;
      // Yields to the event loop between requests, so that other connections make progress.
      if (connection.waiting.length > 0) setImmediate(() => startNext(socket, connection));
    });
    turns.start(
      () => listen(connection, running),
      () => groupsOf(running.request),
    );
  }

  function listen(connection: Connection, running: RunningRequest): void {
    const { request, response } = running;
    // The client has disconnected while the request waited for its turn.
    if (response.destroyed) return;
    inFlight += 1;
    response.once('close', () => (inFlight -= 1));
    if (!isDraining) return listener(request, response);
    // The requests that arrived together with it are queued first.
    setImmediate(() => {
      closeAfter(connection, running);
      listener(request, response);
    });
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(request.socket);
    if (connection !== undefined) connection.newest = request;
    connection?.limited?.prove();
    enqueue(request.socket, () => start(request.socket, { request, response }));
  }

  server.on('request', answer);
  return {
    answer,
    running: (socket) => connections.get(socket)?.running,
    *allRunning() {
      for (const { running } of connections.values()) if (running !== undefined) yield running;
    },
    inFlight: () => inFlight,
    count: () => connections.size,
    accepted,
    whenAnswered: enqueue,
    isReceiving: (socket) => connections.get(socket)?.newest?.complete === false,
    isPaused: (socket) => connections.get(socket)?.isPaused ?? false,
    drain: () => {
      isDraining = true;
      for (const connection of connections.values()) closeAfter(connection, connection.running);
    },
    endIdle: (idleMs) => {
      const now = performance.now();
      for (const [socket, { running, waiting, idleBytes, idleSince }] of connections) {
        const isIdle = running === undefined && waiting.length === 0 && socket.bytesRead === idleBytes;
        if (isIdle && now - idleSince >= idleMs) socket.destroy();
      }
    },
  };
}

function countAccepted(server: Server): () => number {
  let count = 0;
  server.on('connection', () => (count += 1));
  return () => count;
}

/** Makes a response the last one of its connection. Requests that are queued behind it are answered first. */
function closeAfter({ waiting }: Connection, running: RunningRequest | undefined): void {
  if (running === undefined || running.response.headersSent || waiting.length > 0) return;
  running.response.setHeader('connection', 'close');
}

function openConnection(socket: Socket, limited: LimitedConnection | undefined, onClose: () => void): Connection {
  // Node remembers the address once it is read; the log needs it after the client has disconnected.
  void socket.remoteAddress;
  const connection: Connection = {
    limited,
    running: undefined,
    newest: undefined,
    waiting: [],
    isPaused: false,
    idleSince: performance.now(),
    idleBytes: 0,
  };
  // Node resumes a socket when its write buffer drains.
  socket.on('resume', () => {
    if (connection.isPaused) socket.pause();
  });
  socket.once('close', () => {
    connection.waiting.length = 0;
    onClose();
  });
  return connection;
}

/** Queues a task behind the earlier requests of its connection. */
function wait(socket: Socket, connection: Connection, task: () => void): void {
  connection.waiting.push(task);
  if (connection.waiting.length < MAX_WAITING || connection.isPaused) return;
  // Every request before the last one is complete, so none needs more data from the socket.
  connection.isPaused = true;
  socket.pause();
}

function startNext(socket: Socket, connection: Connection): void {
  // After `Connection: close` the socket accepts no more responses.
  if (!socket.writable) connection.waiting.length = 0;
  const task = connection.waiting.shift();
  if (connection.isPaused && connection.waiting.length < MAX_WAITING) {
    connection.isPaused = false;
    socket.resume();
  }
  task?.();
}
