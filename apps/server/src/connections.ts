import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A request under way, and its answer. */
export interface RunningRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The connections of an HTTP server, and what runs on each. */
export interface Connections {
  /** The request under way on a connection. */
  running(socket: Socket): RunningRequest | undefined;
  /** Answers a request as soon as those that came before it on its connection are answered. */
  answer(request: IncomingMessage, response: ServerResponse): void;
  /** Runs a task when everything that came before it on the connection is answered; never if the connection ends. */
  whenAnswered(socket: Socket, task: () => void): void;
  /** Whether the body of a request is still to come. */
  isReceiving(socket: Socket): boolean;
  /** Whether requests wait for others on a connection, which is not read meanwhile. */
  isPaused(socket: Socket): boolean;
  /** Ends the connections that have sent nothing yet: Node does not count them as idle. */
  endUnused(): void;
}

/** The state of one connection. */
interface Connection {
  running: RunningRequest | undefined;
  newest: IncomingMessage | undefined;
  readonly waiting: (() => void)[];
  isPaused: boolean;
}

/**
 * How many pipelined requests wait before their connection is no longer read. Those that Node has already received, up to
 * 64 KiB, still join the queue. As long as it reads, the server notices when the client leaves.
 */
const MAX_WAITING = 16;

/**
 * Answers the requests of each connection one after the other, as they came. Node hands over all pipelined requests at
 * once: run together, thousands of them would take the memory of as many answers, and change frames in any order.
 */
export function serveInOrder(
  server: Server,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Connections {
  const connections = new Map<Socket, Connection>();
  server.on('connection', (socket: Socket) => {
    if (!connections.has(socket))
      connections.set(
        socket,
        openConnection(socket, () => connections.delete(socket)),
      );
  });

  function enqueue(socket: Socket, task: () => void): void {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    const { running, waiting } = connection;
    if (running === undefined && waiting.length === 0) return task();
    waiting.push(task);
    if (waiting.length >= MAX_WAITING && !connection.isPaused) {
      // Every request before the last one is complete, so none needs the socket to go on.
      connection.isPaused = true;
      socket.pause();
    }
    return undefined;
  }

  function start(socket: Socket, running: RunningRequest): void {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    connection.running = running;
    running.response.once('close', () => {
      connection.running = undefined;
      // A turn of the event loop for each request, so that other connections get theirs in between.
      if (connection.waiting.length > 0) setImmediate(() => startNext(socket, connection));
    });
    listener(running.request, running.response);
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(request.socket);
    if (connection !== undefined) connection.newest = request;
    enqueue(request.socket, () => start(request.socket, { request, response }));
  }

  server.on('request', answer);
  return {
    answer,
    running: (socket) => connections.get(socket)?.running,
    whenAnswered: enqueue,
    isReceiving: (socket) => connections.get(socket)?.newest?.complete === false,
    isPaused: (socket) => connections.get(socket)?.isPaused ?? false,
    endUnused: () => {
      for (const socket of connections.keys()) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}

function openConnection(socket: Socket, onClose: () => void): Connection {
  const connection: Connection = { running: undefined, newest: undefined, waiting: [], isPaused: false };
  // Node resumes a socket by itself, when the client has read what was written.
  socket.on('resume', () => {
    if (connection.isPaused) socket.pause();
  });
  socket.once('close', () => {
    connection.waiting.length = 0;
    onClose();
  });
  return connection;
}

function startNext(socket: Socket, connection: Connection): void {
  // After `Connection: close` the socket takes no more answers.
  if (!socket.writable) connection.waiting.length = 0;
  const task = connection.waiting.shift();
  if (connection.isPaused && connection.waiting.length < MAX_WAITING) {
    connection.isPaused = false;
    socket.resume();
  }
  task?.();
}
