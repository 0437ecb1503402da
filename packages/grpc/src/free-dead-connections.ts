import type { GrpcConnection } from './grpc-connections.ts';

/**
 * Returns a function that closes dead connections. Call it whenever a client is refused because all slots are taken. After a
 * protocol error, a session silently stops reading: it does not notice that the client disconnects, and would stay until
 * the keepalive timeout. But it also stops sending, so a ping stays in its queue.
 */
export function freeDeadConnections(connections: () => Iterable<GrpcConnection>): () => void {
  /** Since when the queue of a session has not been empty, in milliseconds. */
  const stuckSince = new WeakMap<GrpcConnection, number>();
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const now = performance.now();
    timer = undefined;
    for (const connection of connections()) {
      const { session, openCalls } = connection;
      if (session.destroyed || session.state.outboundQueueSize === 0) stuckSince.delete(connection);
      else {
        const since = stuckSince.get(connection) ?? now;
        stuckSince.set(connection, since);
        // A slow reader has a queue too, but only during a call.
        if (openCalls === 0 || now - since >= SLOW_MS) session.destroy();
        else lookAgain();
      }
    }
  }
  function lookAgain(): void {
    timer ??= setTimeout(look, LOOK_MS).unref();
  }

  return () => {
    if (timer !== undefined) return;
    for (const { session } of connections()) if (!session.destroyed) session.ping(() => undefined);
    lookAgain();
  };
}

/** How long a ping may stay in the queue; this does not depend on the network. */
const LOOK_MS = 100;
/** How long a client with a call may stop reading while others are refused. */
const SLOW_MS = 5000;
