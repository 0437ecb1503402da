import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Ends connections on which nothing moves in the midst of a request or an answer: a client that stops sending its body
 * or stops reading. One that waits for an answer the server is still working on is left alone.
 */
export function endIdleSockets(server: Server, idleTimeoutMs: number): void {
  const working = new Map<Socket, () => boolean>();
  server.on('request', (request, response) => {
    const { socket } = request;
    working.set(socket, () => request.complete && !response.headersSent);
    response.once('close', () => working.delete(socket));
  });
  server.timeout = idleTimeoutMs;
  server.on('timeout', (socket: Socket) => {
    if (working.get(socket)?.() === true) socket.setTimeout(idleTimeoutMs);
    else socket.destroy();
  });
}
