import { once } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import type { Server, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { answerHttp1, http1Answer, refuse } from './answer-http1.ts';
import { clientCertificateOf } from '@svc/auth';
import { trackHandshakes, type TrackHandshakesOptions } from '@svc/auth/internal';

/** A connection of a client. */
export interface GrpcConnection {
  readonly session: ServerHttp2Session;
  /** The number of open calls. */
  openCalls: number;
}

/** The connections of a gRPC listener. */
export interface GrpcConnections {
  readonly size: number;
  [Symbol.iterator](): Iterator<GrpcConnection>;
  /**
   * Closes the connections without an open call, after a moment in which the client can close its side. The others close
   * when their calls have ended and the client has read the responses. Call it after the listener has stopped accepting.
   */
  closeIdle(): void;
  /** Destroys the remaining connections, even if they have open calls. */
  destroy(): void;
  /** Resolves when the listener and all connections are closed. Call it before the listener is closed. */
  closed(): Promise<void>;
}

/** Options of `trackConnections`. */
export interface TrackConnectionsOptions {
  readonly onHandshakeFailure?: TrackHandshakesOptions['onFailure'];
  /** The text for a client that speaks HTTP/1.1. */
  readonly http1Text: string;
}

/** Tracks the connections of a listener, and destroys those that do not complete the handshake of TLS or of HTTP/2. */
export function trackConnections(listener: Server, options: TrackConnectionsOptions): GrpcConnections {
  const connections = new Map<Socket, GrpcConnection>();
  const answer = http1Answer(options.http1Text);
  const handshakes =
    listener instanceof TlsServer
      ? trackHandshakes(listener, {
          onFailure: options.onHandshakeFailure,
          // A gRPC client without TLS gets no answer: after a GOAWAY, the common ones connect again without a pause.
          plainAnswer: (client) => (client === 'http1' ? answer : undefined),
        })
      : undefined;
  let accepted: Socket | undefined;

  // Node creates the session of a socket during this event.
  const event = handshakes === undefined ? 'connection' : 'secureConnection';
  listener.prependListener(event, (socket: Socket) => {
    accepted = socket;
    // A certificate with a wrong signature leaves an error in the queue of OpenSSL. The session, which writes at once, would
    // take it for its own and end the connection. Reading the certificate clears the queue.
    clientCertificateOf(socket);
  });
  const greetings = handshakes === undefined ? answerHttp1(listener, answer) : undefined;
  // With TLS, a client that cannot choose a protocol.
  listener.on('unknownProtocol', (socket: Socket) => refuse(socket, answer));
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
    get size() {
      return connections.size + (greetings?.size ?? 0);
    },
    [Symbol.iterator]: () => connections.values(),
    closeIdle() {
      handshakes?.destroy();
      greetings?.destroy();
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

/** How long a client may take to send the HTTP/2 preface and settings; the same limit as for HTTP/1.1 headers. */
const GREETING_TIMEOUT_MS = 60_000;
/** How long an idle client has to close its side before its connection is destroyed. */
const GOODBYE_MS = 300;
