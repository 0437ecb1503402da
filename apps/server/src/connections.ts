import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A request under way, and its answer. */
export interface RunningRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The connections of an HTTP server, and what runs on each. */
export interface Connections {
  /** The requests under way on a connection, in the order they came. */
  running(socket: Socket): readonly RunningRequest[];
  /** Ends the connections that have sent nothing yet: Node does not count them as idle. */
  endUnused(): void;
}

/** Keeps track of the connections of a server. */
export function trackConnections(server: Server): Connections {
  const sockets = new Map<Socket, Set<RunningRequest>>();
  server.on('connection', (socket: Socket) => {
    sockets.set(socket, new Set());
    socket.once('close', () => {
      const left = sockets.get(socket) ?? [];
      sockets.delete(socket);
      // Node tells only the answer whose turn it is; one that was queued behind it would never hear of the end.
      setImmediate(() => {
        for (const { response } of left) if (!response.closed) response.emit('close');
      });
    });
  });
  server.on('request', (request, response) => {
    const requests = sockets.get(request.socket);
    const running = { request, response };
    requests?.add(running);
    response.once('close', () => requests?.delete(running));
  });
  return {
    running: (socket) => [...(sockets.get(socket) ?? [])],
    endUnused: () => {
      for (const socket of sockets.keys()) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}
