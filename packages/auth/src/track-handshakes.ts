import type { Socket } from 'node:net';
import type { Server } from 'node:tls';
import { keyOf } from './limit-connections.ts';

/** The connections of a TLS server whose handshake is not complete. */
export interface Handshakes {
  /** Closes them: Node waits for them when the server closes. */
  destroy(): void;
}

/** Options of `trackHandshakes`. */
export interface TrackHandshakesOptions {
  /** Called when a handshake fails. Default: nothing happens; the connection is closed in any case. */
  readonly onFailure?: ((failure: HandshakeFailure) => void) | undefined;
  /** What to send to a client that does not speak TLS; it ends the connection. Undefined, and the default: nothing. */
  readonly plainAnswer?: ((client: PlainClient) => string | Uint8Array | undefined) | undefined;
}

/** A handshake that failed. */
export interface HandshakeFailure {
  /** The code of OpenSSL or of the system. */
  readonly code: string;
  readonly address: string | undefined;
}

/** A client that does not speak TLS: its first bytes are a common request of HTTP/1.1, or anything else. */
export type PlainClient = 'http1' | 'other';

/** The codes of OpenSSL for a first message that is not TLS. */
const NOT_TLS: ReadonlyMap<string, PlainClient> = new Map([
  ['ERR_SSL_HTTP_REQUEST', 'http1'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'other'],
]);

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
    const client = NOT_TLS.get(code);
    const answer = client && plainAnswer?.(client);
    if (answer !== undefined) pending.get(keyOf(socket))?.end(answer);
  });
  return {
    destroy() {
      for (const socket of pending.values()) socket.destroy();
    },
  };
}
