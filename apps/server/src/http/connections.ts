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

/** True if the server waits for the body of a request: no response has started, and everything so far is read. */
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
  /** The body of a request is still arriving. */
  isReceiving(socket: Socket): boolean;
  /** The connection is paused because too many requests are queued on it. */
  isPaused(socket: Socket): boolean;
  /** From now on, connections are closed after their responses. Clients see it in the header `Connection`. */
  drain(): void;
  /**
   * Closes the connections without a request for `idleMs`. A younger one may have a request on its way. Node's
   * `closeIdleConnections` also cuts finished responses before their client has read them.
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
 * With this many queued pipelined requests, a connection is paused. Those that Node has already received, up to 64 KiB,
 * still join the queue. Only an open connection notices when the client disconnects.
 */
const MAX_WAITING = 16;

/** Node's error if a head arrives too slowly. */
const LATE = Object.assign(new Error('The head is late.'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });

/** Requests to start in a turn of the event loop: few, because Node accepts one connection in a turn. */
const TURN_REQUESTS = 8;

/**
 * Requests of one caller wait for each other, and not for those of others. The credentials are not checked yet, and a
 * client can invent many: they take turns only within their address, shared by all clients of a proxy.
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
      // Yields to the event loop between requests, for the other connections.
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
    // The requests of the same packet are queued first.
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

/** Makes a response the last one of its connection. Requests queued behind it are answered first. */
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

/** The state of an arriving body. */
interface Arrival {
  /** How long the server has waited for it. */
  waitedMs: number;
  /** What the connection had received when the window began. */
  fromBytes: number;
}

/** How often to look at arriving bodies, at most. */
const MAX_SAMPLE_MS = 1000;

/**
 * Closes connections if their body arrives too slowly: a client with a byte now and then is never idle, but occupies a
 * connection and an upload. Only time in which the server waits for the client counts. A rate of 0 means
 * none.
 */
export function endSlowBodies(
  server: Server,
  connections: Connections,
  bytesPerSecond: number,
  windowMs: number,
): void {
  if (bytesPerSecond === 0) return;
  const arrivals = new WeakMap<IncomingMessage, Arrival>();
  let sampledAtMs = performance.now();

  function sample({ request }: RunningRequest, passedMs: number): void {
    const { bytesRead } = request.socket;
    const arrival = arrivals.get(request);
    if (arrival === undefined) {
      arrivals.set(request, { waitedMs: 0, fromBytes: bytesRead });
      return;
    }
    arrival.waitedMs += passedMs;
    if (arrival.waitedMs < windowMs) return;
    if (bytesRead - arrival.fromBytes < (bytesPerSecond * arrival.waitedMs) / 1000) request.socket.destroy();
    arrivals.set(request, { waitedMs: 0, fromBytes: bytesRead });
  }

  const timer = setInterval(
    () => {
      const nowMs = performance.now();
      for (const running of connections.allRunning()) if (awaitsBody(running)) sample(running, nowMs - sampledAtMs);
      sampledAtMs = nowMs;
    },
    Math.min(MAX_SAMPLE_MS, Math.ceil(windowMs / 4)),
  ).unref();
  server.once('close', () => clearInterval(timer));
}
