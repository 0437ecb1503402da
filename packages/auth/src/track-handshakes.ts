import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';

/** The connections of a TLS server whose handshake is not complete. */
export interface Handshakes {
  /** Closes them: Node waits for them when the server closes. */
  destroy(): void;
}

/** Options of `trackHandshakes`. */
export interface TrackHandshakesOptions {
  /** Called when a handshake fails. Default: nothing happens; the connection is closed in any case. */
  readonly onFailure?: ((failure: HandshakeFailure) => void) | undefined;
  /** What to send to a client that does not speak TLS. It ends the connection. Default: nothing. */
  readonly plainAnswer?: (() => string | Uint8Array) | undefined;
}

/** A handshake that failed. */
export interface HandshakeFailure {
  /** The code of OpenSSL or of the system. */
  readonly code: string;
  readonly address: string | undefined;
}

/** The codes of OpenSSL for a first message that is not TLS. */
const NOT_TLS: ReadonlySet<string> = new Set(['ERR_SSL_HTTP_REQUEST', 'ERR_SSL_WRONG_VERSION_NUMBER']);

/** Tracks the handshakes of a server from their start. Call it before the server listens. */
export function trackHandshakes(server: Server, options: TrackHandshakesOptions = {}): Handshakes {
  const { onFailure, plainAnswer } = options;
  const pending = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    pending.set(key, socket);
    socket.once('close', () => {
      if (pending.get(key) === socket) pending.delete(key);
    });
  });
  server.on('secureConnection', (socket) => pending.delete(keyOf(socket)));
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    const code = error.code ?? error.message;
    onFailure?.({ code, address: socket.remoteAddress });
    // The TCP connection below is still open and can carry a plain answer.
    if (plainAnswer !== undefined && NOT_TLS.has(code)) pending.get(keyOf(socket))?.end(plainAnswer());
  });
  return {
    destroy() {
      for (const socket of pending.values()) socket.destroy();
    },
  };
}

/** A TLS socket and the socket below it have the same key. */
function keyOf({ remoteAddress, remotePort }: Socket | TLSSocket): string {
  return `${remoteAddress} ${remotePort}`;
}
