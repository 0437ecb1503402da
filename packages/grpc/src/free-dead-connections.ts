import type { ServerHttp2Session } from 'node:http2';
import type { Server } from 'node:net';

/**
 * Frees the connections that hold a slot for nothing, whenever a client is refused for want of one. After a protocol
 * error a session reads no more: it says nothing of that, hears nothing of the client's leaving, and would stay until the
 * keepalive. But it sends no more either, and so a ping stays in its queue.
 */
export function freeDeadConnections(listener: Server): void {
  const watched = new Map<ServerHttp2Session, Watched>();
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const now = performance.now();
    timer = undefined;
    for (const [session, state] of watched) {
      if (session.destroyed || session.state.outboundQueueSize === 0) state.stuckSince = undefined;
      else {
        state.stuckSince ??= now;
        // A client that reads slowly has a queue too, but only while it has a call.
        if (state.calls === 0 || now - state.stuckSince >= SLOW_MS) session.destroy();
        else lookAgain();
      }
    }
  }
  function lookAgain(): void {
    timer ??= setTimeout(look, LOOK_MS).unref();
  }

  listener.on('session', (session: ServerHttp2Session) => {
    const state: Watched = { calls: 0, stuckSince: undefined };
    watched.set(session, state);
    session.on('close', () => watched.delete(session));
    session.on('stream', (stream) => {
      state.calls++;
      stream.on('close', () => state.calls--);
    });
  });
  listener.on('drop', () => {
    if (timer !== undefined) return;
    for (const session of watched.keys()) if (!session.destroyed) session.ping(() => undefined);
    lookAgain();
  });
}

interface Watched {
  /** How many of its calls are open. */
  calls: number;
  /** Since when its queue was never seen empty. */
  stuckSince: number | undefined;
}

/** How long a ping may take to leave the queue; that does not depend on the network. */
const LOOK_MS = 100;
/** How long a client with a call may read nothing while others are refused. */
const SLOW_MS = 5000;
