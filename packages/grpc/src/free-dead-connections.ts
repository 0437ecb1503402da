import type { Server } from 'node:net';
import type { GrpcConnection, GrpcConnections } from './grpc-connections.ts';

/**
 * Frees the connections that hold a slot for nothing, whenever a client is refused for want of one. After a protocol
 * error a session reads no more: it says nothing of that, hears nothing of the client's leaving, and would stay until the
 * keepalive. But it sends no more either, and so a ping stays in its queue.
 */
export function freeDeadConnections(listener: Server, connections: GrpcConnections): void {
  /** Since when a queue was never seen empty, in milliseconds. */
  const stuckSince = new WeakMap<GrpcConnection, number>();
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const now = performance.now();
    timer = undefined;
    for (const connection of connections) {
      const { session, openCalls } = connection;
      if (session.destroyed || session.state.outboundQueueSize === 0) stuckSince.delete(connection);
      else {
        const since = stuckSince.get(connection) ?? now;
        stuckSince.set(connection, since);
        // A client that reads slowly has a queue too, but only while it has a call.
        if (openCalls === 0 || now - since >= SLOW_MS) session.destroy();
        else lookAgain();
      }
    }
  }
  function lookAgain(): void {
    timer ??= setTimeout(look, LOOK_MS).unref();
  }

  listener.on('drop', () => {
    if (timer !== undefined) return;
    for (const { session } of connections) if (!session.destroyed) session.ping(() => undefined);
    lookAgain();
  });
}

/** How long a ping may take to leave the queue; that does not depend on the network. */
const LOOK_MS = 100;
/** How long a client with a call may read nothing while others are refused. */
const SLOW_MS = 5000;
