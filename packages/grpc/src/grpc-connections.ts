import { once } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import type { Server, Socket } from 'node:net';

/** One connection of a client. */
export interface GrpcConnection {
  readonly session: ServerHttp2Session;
  /** How many of its calls are open. */
  openCalls: number;
}

/** The connections of a gRPC listener. */
export interface GrpcConnections {
  [Symbol.iterator](): Iterator<GrpcConnection>;
  /**
   * Closes the connections without an open call: each client has a moment to close its side first. Those with calls end
   * when their calls have ended and the client has read the answers. Call it once the listener accepts no more.
   */
  closeIdle(): void;
  /** Cuts all that are left, whatever runs on them. */
  destroy(): void;
  /** Resolves when the listener and all connections are closed. Call it before the listener is closed. */
  closed(): Promise<void>;
}

/** Keeps track of the connections of a listener, and cuts those that never become HTTP/2. */
export function trackConnections(listener: Server): GrpcConnections {
  const connections = new Map<Socket, GrpcConnection>();
  let accepted: Socket | undefined;

  // Node makes the session of a socket within this event.
  listener.prependListener('connection', (socket: Socket) => (accepted = socket));
  listener.on('session', (session: ServerHttp2Session) => {
    const socket = accepted;
    if (socket === undefined) return;
    const connection: GrpcConnection = { session, openCalls: 0 };
    connections.set(socket, connection);
    const timer = setTimeout(() => socket.destroy(), GREETING_TIMEOUT_MS).unref();
    session.once('remoteSettings', () => clearTimeout(timer));
    socket.once('close', () => {
      clearTimeout(timer);
      connections.delete(socket);
    });
    session.on('stream', (stream) => {
      connection.openCalls++;
      stream.once('close', () => connection.openCalls--);
    });
  });

  return {
    [Symbol.iterator]: () => connections.values(),
    closeIdle() {
      for (const [socket, { session, openCalls }] of connections) {
        if (openCalls > 0) continue;
        session.close();
        if (socket.bytesRead === 0) socket.destroy();
        else setTimeout(() => socket.destroy(), GOODBYE_MS).unref();
      }
    },
    destroy() {
      for (const [socket, { session }] of connections) {
        session.destroy();
        socket.destroy();
      }
    },
    async closed() {
      if (listener.listening) await once(listener, 'close');
    },
  };
}

/** How long a client may take to send the preface of HTTP/2 and its settings, as long as for a head over HTTP. */
const GREETING_TIMEOUT_MS = 60_000;
/** How long an idle client has to close its side before its connection is cut. */
const GOODBYE_MS = 300;
