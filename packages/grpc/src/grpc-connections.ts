import { once } from 'node:events';
import { constants, type ServerHttp2Session } from 'node:http2';
import type { Server, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { answerHttp1, http1Answer, refuse } from './answer-http1.ts';
import { limitChunks } from './limit-chunks.ts';
import { clientCertificateOf } from '@svc/auth';
import {
  type ConnectionLimitOptions,
  limitConnections,
  type LimitedConnection,
  trackHandshakes,
  type TrackHandshakesOptions,
} from '@svc/auth/internal';

/** A connection of a client. */
export interface GrpcConnection {
  readonly session: ServerHttp2Session;
  readonly socket: Socket;
  /** Undefined if the client has left already. */
  readonly limited: LimitedConnection | undefined;
  /** The number of open calls. */
  openCalls: number;
  /** The number of calls that were refused since the last accepted one. */
  refusedCalls: number;
  /** Whether a call was accepted. */
  isProved: boolean;
}

/** The connections of a gRPC listener. */
export interface GrpcConnections {
  readonly size: number;
  [Symbol.iterator](): Iterator<GrpcConnection>;
  /** Tells that a call of a session was accepted. */
  onAccepted(session: object | undefined): void;
  /** Tells that a call of a session was refused. Closes a connection that is refused again and again. */
  onRefused(session: object | undefined): void;
  /** Tells that calls of a session were cancelled before they began. Before its first accepted call, they count as refused. */
  onDropped(session: object, count: number): void;
  /** Closes the connection of a session at once, with what is not read yet. */
  cutOff(session: object): void;
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
  /** The most connections, and how long one may take until its first accepted call. */
  readonly limit: ConnectionLimitOptions;
}

/** Tracks and limits the connections of a listener. */
export function trackConnections(listener: Server, options: TrackConnectionsOptions): GrpcConnections {
  const connections = new Map<Socket, GrpcConnection>();
  const bySession = new WeakMap<object, GrpcConnection>();
  const answer = http1Answer(options.http1Text);
  const handshakes =
    listener instanceof TlsServer
      ? trackHandshakes(listener, {
          onFailure: options.onHandshakeFailure,
          // A gRPC client without TLS gets no answer: after a GOAWAY, the common ones connect again without a pause.
          plainAnswer: (client) => (client === 'http1' ? answer : undefined),
        })
      : undefined;
  let newest: Socket | undefined;

  // Node creates the session of a socket during this event.
  const event = handshakes === undefined ? 'connection' : 'secureConnection';
  listener.prependListener(event, (socket: Socket) => {
    newest = socket;
    // A certificate with a wrong signature leaves an error in the queue of OpenSSL. The session, which writes at once, would
    // take it for its own and end the connection. Reading the certificate clears the queue.
    clientCertificateOf(socket);
  });
  const greetings = handshakes === undefined ? answerHttp1(listener, answer) : undefined;
  const find = limitConnections(listener, options.limit);
  // With TLS, a client that cannot choose a protocol.
  listener.on('unknownProtocol', (socket: Socket) => refuse(socket, answer));
  listener.on('session', (session: ServerHttp2Session) => {
    const socket = newest;
    if (socket === undefined) return;
    const limited = find(socket);
    const connection: GrpcConnection = { session, socket, limited, openCalls: 0, refusedCalls: 0, isProved: false };
    connections.set(socket, connection);
    bySession.set(session, connection);
    socket.once('close', () => connections.delete(socket));
    if (limited !== undefined) {
      limited.isBusy = () => connection.openCalls > 0;
      limited.close = () => sayGoodbye(socket, session);
    }
    limitChunks(session, () => cutOff(connection));
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
    onAccepted(session) {
      const connection = session && bySession.get(session);
      if (connection === undefined) return;
      connection.refusedCalls = 0;
      connection.isProved = true;
      connection.limited?.prove();
    },
    onRefused(session) {
      const connection = session && bySession.get(session);
      if (connection !== undefined) countRefused(connection, 1);
    },
    onDropped(session, count) {
      const connection = bySession.get(session);
      if (connection?.isProved === false) countRefused(connection, count);
    },
    cutOff(session) {
      const connection = bySession.get(session);
      if (connection !== undefined) cutOff(connection);
    },
    closeIdle() {
      handshakes?.destroy();
      greetings?.destroy();
      for (const [socket, { session, openCalls }] of connections) {
        if (openCalls === 0) sayGoodbye(socket, session);
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

function countRefused(connection: GrpcConnection, count: number): void {
  connection.refusedCalls += count;
  if (connection.refusedCalls < MAX_REFUSED_CALLS || connection.session.destroyed) return;
  connection.session.goaway(ENHANCE_YOUR_CALM);
  // At once: calls that have arrived together are not looked at.
  connection.session.destroy();
}

function cutOff({ session, socket }: GrpcConnection): void {
  session.destroy();
  // The session alone would read on until the next turn.
  socket.destroy();
}

/** Tells the client to leave, and closes the connection. */
function sayGoodbye(socket: Socket, session: ServerHttp2Session): void {
  session.close();
  if (socket.bytesRead === 0) socket.destroy();
  else setTimeout(() => socket.destroy(), GOODBYE_MS).unref();
}

/** Refused calls in a row until the connection is closed: as many as may be open at a time. */
const MAX_REFUSED_CALLS = 100;
const { NGHTTP2_ENHANCE_YOUR_CALM: ENHANCE_YOUR_CALM } = constants;
/** How long an idle client has to close its side before its connection is destroyed. */
const GOODBYE_MS = 300;
