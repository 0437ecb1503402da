import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { awaitsBody, type Connections, type RunningRequest } from './connections.ts';

/**
 * Closes connections whose client is idle: it stops sending its head or body, or stops reading the response. A connection
 * that waits for the server, or for the database behind it, stays open.
 */
export function endIdleSockets(server: Server, connections: Connections, idleTimeoutMs: number): void {
  server.timeout = idleTimeoutMs;
  server.on('timeout', (socket: Socket) => {
    const current = connections.running(socket);
    if (current === undefined || isClientIdle(current)) socket.destroy();
    else socket.setTimeout(idleTimeoutMs);
  });
}

function isClientIdle(running: RunningRequest): boolean {
  const { response } = running;
  return response.headersSent ? response.writableLength > 0 : awaitsBody(running);
}
