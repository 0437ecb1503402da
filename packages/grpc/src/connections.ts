import { once } from 'node:events';
import {
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Server, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { clientCertificateOf } from '@svc/auth';
import {
  type ConnectionLimitOptions,
  limitConnections,
  type LimitedConnection,
  trackHandshakes,
  type TrackHandshakesOptions,
} from '@svc/auth/internal';

/** A connection of a client. */
interface GrpcConnection {
  readonly session: ServerHttp2Session;
  readonly socket: Socket;
  /** Undefined if the client has left already. */
  readonly limited: LimitedConnection | undefined;
  /** The number of open calls. */
  openCalls: number;
  /** The number of calls refused since the last accepted one. */
  refusedCalls: number;
  /** True once a call was accepted. */
  isProved: boolean;
}

/** The connections of a gRPC listener. */
export interface GrpcConnections {
  readonly size: number;
  /** A call of a session was accepted. */
  onAccepted(session: object | undefined): void;
  /** A call of a session was refused. Closes a connection after many refusals in a row. */
  onRefused(session: object | undefined): void;
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
interface TrackConnectionsOptions {
  readonly onHandshakeFailure?: TrackHandshakesOptions['onFailure'];
  /** The text for a client of HTTP/1.1. */
  readonly http1Text: string;
  /** The most connections, and how long one may take until its first accepted call. */
  readonly limit: Omit<ConnectionLimitOptions, 'onRefused'>;
  /** Reports a call if grpc-js rejects it by its headers. Returns false if it does not. */
  readonly reportRejected: (headers: IncomingHttpHeaders) => boolean;
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
  const find = limitConnections(listener, {
    ...options.limit,
    onRefused: freeDeadConnections(connections),
  });
  // With TLS, a client without ALPN.
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

  function onRefused(session: object | undefined): void {
    const connection = session && bySession.get(session);
    if (connection !== undefined) countRefused(connection, 1);
  }
  listener.on('stream', ({ session }: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    if (options.reportRejected(headers)) onRefused(session);
  });
  beginCalls(listener, {
    onFlood(session) {
      const connection = bySession.get(session);
      if (connection !== undefined) cutOff(connection);
    },
    onDropped(session, count) {
      const connection = bySession.get(session);
      // Before the first accepted call, a cancelled one counts as refused.
      if (connection?.isProved === false) countRefused(connection, count);
    },
  });

  return {
    get size() {
      return connections.size + (greetings?.size ?? 0);
    },
    onAccepted(session) {
      const connection = session && bySession.get(session);
      if (connection === undefined) return;
      connection.refusedCalls = 0;
      connection.isProved = true;
      connection.limited?.prove();
    },
    onRefused,
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
  // At once: the remaining calls of the same read are dropped.
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

/** The connections of a listener before they are passed on. */
interface Greetings {
  readonly size: number;
  destroy(): void;
}

/**
 * Answers clients that speak HTTP/1.1, and passes all other connections on to the listeners of the event by now: Node would
 * greet each client with HTTP/2 settings, which a browser takes for a broken response. For a server without TLS.
 */
function answerHttp1(listener: Server, answer: string): Greetings {
  const accept = listener.listeners('connection');
  listener.removeAllListeners('connection');
  const waiting = new Set<Socket>();

  function begin(socket: Socket): void {
    waiting.add(socket);
    let head: Buffer = Buffer.alloc(0);
    const onClose = (): void => void waiting.delete(socket);
    function onReadable(): void {
      const bytes: unknown = socket.read();
      if (!(bytes instanceof Uint8Array)) return;
      head = Buffer.concat([head, bytes]);
      const protocol = protocolOf(head);
      if (protocol === undefined) return;
      socket.off('readable', onReadable);
      if (protocol === 'http1') return refuse(socket, answer);
      // Node reads all of it in one step, and tells of no call before the end.
      if (isFlood(head)) return void socket.destroy();
      onClose();
      socket.off('close', onClose).off('error', ignore);
      socket.unshift(head);
      for (const listen of accept) listen.call(listener, socket);
    }
    socket.on('close', onClose).on('error', ignore).on('readable', onReadable);
  }

  listener.on('connection', begin);
  return {
    get size() {
      return waiting.size;
    },
    destroy() {
      for (const socket of waiting) socket.destroy();
    },
  };
}

/** Returns the response to an HTTP/1.1 client: a status without retries, and a text. */
function http1Answer(text: string): string {
  const fields = ['content-type: text/plain; charset=utf-8', `content-length: ${Buffer.byteLength(text)}`];
  return ['HTTP/1.1 400 Bad Request', ...fields, 'connection: close', '', text].join('\r\n');
}

/** Tells the protocol by the first bytes; undefined if more are needed. A client of HTTP/2 begins with `PRI `. */
function protocolOf(head: Buffer): 'http1' | 'other' | undefined {
  const text = head.toString('latin1', 0, MAX_METHOD_LENGTH + 1);
  if (/^[A-Z]{0,10}$/.test(text)) return undefined;
  return /^(?!PRI )[A-Z]+ /.test(text) ? 'http1' : 'other';
}

/** True if the first bytes of an HTTP/2 client have too many frames, calls (frames of headers) or headers. */
function isFlood(head: Buffer): boolean {
  let frames = 0;
  let calls = 0;
  const block: Uint8Array[] = [];
  for (let at = PREFACE_BYTES; at + FRAME_HEAD_BYTES <= head.length; frames += 1) {
    const from = at + FRAME_HEAD_BYTES;
    const type = head[at + 3];
    const flags = head[at + 4] ?? 0;
    at = from + head.readUIntBE(at, 3);
    if (type === CONTINUATION) block.push(head.subarray(from, at));
    if (type !== HEADERS) continue;
    calls += 1;
    const padding = flags & PADDED ? 1 : 0;
    const priority = flags & PRIORITY ? PRIORITY_BYTES : 0;
    block.push(head.subarray(from + padding + priority, padding === 0 ? at : at - (head[from] ?? 0)));
  }
  // As one: a header may begin in one frame and end in the next.
  const headers = countHeaders(Buffer.concat(block));
  return calls > MAX_CALLS_AT_ONCE || headers > MAX_HEADERS_AT_ONCE || frames > MAX_CHUNKS_AT_ONCE;
}

/** Counts the headers in HPACK. */
function countHeaders(block: Uint8Array): number {
  let at = 0;
  /** Reads an integer from the last bits of a byte on. */
  const integer = (bits: number): number => {
    const most = 2 ** bits - 1;
    let value = (block[at++] ?? 0) & most;
    if (value < most) return value;
    for (let unit = 1; ; unit *= 128) {
      const byte = block[at++] ?? 0;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
    }
  };
  const skipText = (): void => {
    const length = integer(7);
    at += length;
  };
  let count = 0;
  for (; at < block.length; count += 1) {
    const kind = block[at] ?? 0;
    if (kind >= 0x80) integer(7);
    else if (kind >= 0x40 || kind < 0x20) {
      if (integer(kind >= 0x40 ? 6 : 4) === 0) skipText();
      skipText();
    } else integer(5);
  }
  return count;
}

/**
 * Sends the response, and reads on for a moment: unread bytes would make the system discard the response. Then it closes the
 * connection, also if the client does not.
 */
function refuse(socket: Socket, answer: string): void {
  socket.end(answer);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), READING_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** A failed connection also closes. */
function ignore(): void {}

/** How long a client has to read the response. */
const READING_MS = 1000;
const MAX_METHOD_LENGTH = 10;
/** The first bytes of every HTTP/2 connection, before the frames. */
const PREFACE_BYTES = 24;
/** The length of the payload, the type, flags, and the stream. */
const FRAME_HEAD_BYTES = 9;
const HEADERS = 1;
const CONTINUATION = 9;
/** Flags of a frame of headers: a byte with the length of the padding at its end comes first, and then a priority. */
const PADDED = 0x8;
const PRIORITY = 0x20;
const PRIORITY_BYTES = 5;

/** A connection and its waiting calls, the oldest first. Some may have been cancelled. */
interface Waiting {
  readonly session: Http2Session;
  readonly calls: Call[];
  /** The headers of these calls. */
  headers: number;
}

/** A call as Node reports it. The raw headers are names and values in turn. */
type Call = [stream: ServerHttp2Stream, headers: unknown, flags: unknown, rawHeaders: readonly unknown[]];

/** What becomes of clients with cancelled calls. */
interface CancelOptions {
  /** Called with the session of a client with too many calls at once. It must destroy the session. */
  readonly onFlood: (session: Http2Session) => void;
  /** Called with the number of calls cancelled before they began. It may destroy the session. */
  readonly onDropped: (session: Http2Session, count: number) => void;
}

/**
 * Begins the calls of a listener in the turn after their headers, a few in each turn, one of each connection at a time. A
 * call that its client has cancelled by then is dropped, and costs little. Call it after the other listeners for `stream`
 * are added.
 */
export function beginCalls(listener: Server, { onFlood, onDropped }: CancelOptions): void {
  const begin = listener.listeners('stream');
  /** The connections with waiting calls, in the order of their turns. */
  const row = new Set<Waiting>();

  function beginSome(): void {
    let left = CALLS_OF_A_TURN;
    for (const waiting of row) {
      // The connection goes to the end of the row, or leaves it.
      row.delete(waiting);
      const { session, calls } = waiting;
      const first = calls.findIndex(([stream]) => !stream.closed && !stream.destroyed);
      const dropped = first === -1 ? calls.length : first;
      const taken = calls.splice(0, dropped + 1);
      const call = taken[dropped];
      for (const [, , , raw] of taken) waiting.headers -= raw.length / 2;
      if (dropped > 0) onDropped(session, dropped);
      if (call === undefined || session.destroyed) continue;
      if (calls.length > 0) row.add(waiting);
      for (const listen of begin) Reflect.apply(listen, listener, call);
      // A client without a message has ended its side before anyone listened.
      if (call[0].readableEnded) call[0].emit('end');
      left -= 1;
      if (left === 0) break;
    }
    if (row.size > 0) setImmediate(beginSome);
  }

  listener.removeAllListeners('stream');
  listener.on('session', (session: Http2Session) => {
    const waiting: Waiting = { session, calls: [], headers: 0 };
    session.on('stream', (...call: Call) => {
      const [stream, , , raw] = call;
      // grpc-js adds its listener when the call begins.
      stream.on('error', () => undefined);
      if (session.destroyed) return;
      if (row.size === 0) setImmediate(beginSome);
      row.add(waiting);
      waiting.calls.push(call);
      waiting.headers += raw.length / 2;
      if (waiting.calls.length <= MAX_CALLS_AT_ONCE && waiting.headers <= MAX_HEADERS_AT_ONCE) return;
      waiting.calls.length = 0;
      onFlood(session);
    });
  });
}

/** Calls begun in one turn of the event loop. */
const CALLS_OF_A_TURN = 16;
/** The most calls of a client at once, with the cancelled ones: 100 may be open at a time. */
const MAX_CALLS_AT_ONCE = 128;
/** The most headers of these calls. A hundred calls may have fifty each; clients behind proxies send about thirty. */
const MAX_HEADERS_AT_ONCE = 5000;

/**
 * Limits the chunks of data that a client sends at once. Node calls a function for each, so thousands of a few bytes would
 * keep the event loop. As a client may send only 64 KiB ahead, those of a usual size are few. `onFlood` must close the
 * connection.
 */
function limitChunks(session: Http2Session, onFlood: () => void): void {
  let chunks = 0;
  const endTurn = (): void => void (chunks = 0);
  session.on('stream', (stream: ServerHttp2Stream) => {
    const push = stream.push.bind(stream);
    stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
      if (chunks === 0) setImmediate(endTurn);
      chunks += 1;
      if (chunks === MAX_CHUNKS_AT_ONCE) onFlood();
      return push(chunk, encoding);
    };
  });
}

/** The most chunks of a connection in one turn of the event loop. */
const MAX_CHUNKS_AT_ONCE = 2048;

/**
 * Returns a function that closes dead connections. Call it whenever a client is refused because all slots are taken. After a
 * protocol error, a session silently stops reading: it does not notice that the client disconnects, and would stay until
 * the keepalive timeout. But it also stops sending, so a ping stays in its queue.
 */
function freeDeadConnections(connections: ReadonlyMap<Socket, GrpcConnection>): () => void {
  /** Since when the queue of a session has not been empty, in milliseconds. */
  const stuckSince = new WeakMap<GrpcConnection, number>();
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const now = performance.now();
    timer = undefined;
    for (const connection of connections.values()) {
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
    for (const { session } of connections.values()) if (!session.destroyed) session.ping(() => undefined);
    lookAgain();
  };
}

/** How long a ping may stay in the queue; this does not depend on the network. */
const LOOK_MS = 100;
/** How long a client with a call may stop reading while others are refused. */
const SLOW_MS = 5000;
