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
  // Arrays, because a `Set` through which much passes keeps what has left it until the whole heap is collected.
  const sockets = new Map<Socket, RunningRequest[]>();
  server.on('connection', (socket: Socket) => {
    sockets.set(socket, []);
    socket.once('close', () => {
      const left = sockets.get(socket) ?? [];
      sockets.delete(socket);
      // Node tells only the answer whose turn it is; one that was queued behind it would never hear of the end.
      setImmediate(() => {
        // A copy, because each one leaves the list as it is told.
        for (const { response } of left.slice()) if (!response.closed) response.emit('close');
      });
    });
  });
  server.on('request', (request, response) => {
    const requests = sockets.get(request.socket);
    const running = { request, response };
    requests?.push(running);
    response.once('close', () => {
      // As a rule it is the only one.
      const index = requests?.indexOf(running) ?? -1;
      if (index >= 0) requests?.splice(index, 1);
    });
  });
  return {
    running: (socket) => [...(sockets.get(socket) ?? [])],
    endUnused: () => {
      for (const socket of sockets.keys()) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}
