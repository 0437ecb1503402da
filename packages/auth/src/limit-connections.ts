import { isIPv6, type Server, type Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';

/** Options of `limitConnections`. */
export interface ConnectionLimitOptions {
  /** The most connections of one network. All networks together may have a tenth more. */
  readonly max: number;
  /** How long a client may take until its first accepted request. */
  readonly firstRequestMs: number;
  /** True if a client may take the place of an idle connection of its own network. Default false. */
  readonly closesOwnIdle?: boolean;
  /** Called when a connection is refused because all others are busy. Default: none. */
  readonly onRefused?: () => void;
}

/** A connection of a listener with limited connections. */
export interface LimitedConnection {
  /** True while a request runs. Default: false. */
  isBusy: () => boolean;
  /** Closes an idle connection. Default: destroys the socket. */
  close: () => void;
  /** A request of the client was accepted. */
  prove(): void;
}

/** Finds the connection of a socket, also of the TLS socket above it. Undefined if the socket is closed. */
export type FindConnection = (socket: Socket) => LimitedConnection | undefined;

interface Connection extends LimitedConnection {
  readonly socket: Socket;
  isNew: boolean;
  /** Frees its slot. */
  readonly forget: () => void;
}

/** The connections of a network, the oldest first. */
interface Group {
  readonly all: Set<Connection>;
  readonly new: Set<Connection>;
}

/**
 * Limits the connections of a server: no client can occupy all of them. A connection is new until its first accepted
 * request, and is closed if that takes too long. If there is no slot for a client, the oldest new connection of the network
 * with the most new ones is closed; if there is none, an idle one of a network with more connections than the client's. If
 * there is none either, the client is refused. Call it after the other listeners for `connection` are added: a refused
 * socket is destroyed in the event.
 */
export function limitConnections(server: Server, options: ConnectionLimitOptions): FindConnection {
  const { max, firstRequestMs, closesOwnIdle = false, onRefused } = options;
  const maxOfAll = max + Math.floor(max / 10);
  const connections = new Map<string, Connection>();
  const groups = new Map<string, Group>();
  let leaving = 0;

  function open(socket: Socket, key: string, network: string): { readonly newest: Connection; readonly group: Group } {
    const group = groups.get(network) ?? { all: new Set(), new: new Set() };
    groups.set(network, group);
    const timer = setTimeout(() => newest.close(), firstRequestMs).unref();
    const newest: Connection = {
      socket,
      isNew: true,
      isBusy: () => false,
      close: () => socket.destroy(),
      prove() {
        if (!newest.isNew) return;
        newest.isNew = false;
        clearTimeout(timer);
        group.new.delete(newest);
      },
      forget() {
        clearTimeout(timer);
        group.all.delete(newest);
        group.new.delete(newest);
        if (group.all.size === 0 && groups.get(network) === group) groups.delete(network);
        if (connections.get(key) === newest) connections.delete(key);
      },
    };
    connections.set(key, newest);
    group.all.add(newest);
    group.new.add(newest);
    socket.once('close', newest.forget);
    return { newest, group };
  }

  /** Closes some idle connections of a group; several at a time, because it looks at all. */
  function closeIdle({ all }: Group): boolean {
    const idle = [...all].filter(({ isNew, isBusy }) => !isNew && !isBusy()).slice(0, Math.ceil(max / 100));
    for (const connection of idle) {
      // It stays for a moment, above the limit.
      leaving += 1;
      connection.socket.once('close', () => (leaving -= 1));
      connection.forget();
      connection.close();
    }
    return idle.length > 0;
  }

  /** Makes room for a connection, in its own group or in any. */
  function makeRoom(newest: Connection, own: Group, among: readonly Group[]): boolean {
    const crowd = among.reduce((most, group) => (group.new.size > most.new.size ? group : most));
    const [oldest] = crowd.new;
    if (oldest !== undefined && oldest !== newest) {
      oldest.forget();
      oldest.socket.destroy();
      return true;
    }
    if (leaving >= MAX_LEAVING) return false;
    const larger = among.filter((group) => group.all.size > own.all.size || (closesOwnIdle && group === own));
    return larger.toSorted((a, b) => b.all.size - a.all.size).some(closeIdle);
  }

  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    const key = keyOf(socket);
    // The client has left already, or the server passes the socket on a second time.
    if (remoteAddress === undefined || connections.get(key)?.socket === socket) return;
    const { newest, group } = open(socket, key, networkOf(remoteAddress));
    const isCrowded = group.all.size > max;
    if (!isCrowded && connections.size <= maxOfAll) return;
    if (makeRoom(newest, group, isCrowded ? [group] : [...groups.values()])) return;
    newest.forget();
    socket.destroy();
    onRefused?.();
  });
  return (socket) => connections.get(keyOf(socket));
}

/** The most closing connections: they may stay for a moment above the limit. */
const MAX_LEAVING = 100;

/** A TLS socket and the socket below it have the same key. */
function keyOf({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Returns what one client has at least: an address of IPv4, or the 64 bits of an IPv6 network. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? [];
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}

/** The connections of a TLS server whose handshake is not complete. */
export interface Handshakes {
  /** Closes them: Node waits for them when the server closes. */
  destroy(): void;
}

/** Options of `trackHandshakes`. */
export interface TrackHandshakesOptions {
  /** Called when a handshake fails. Default: nothing happens; the connection is closed in any case. */
  readonly onFailure?: ((failure: HandshakeFailure) => void) | undefined;
  /** What to send to a client without TLS; it ends the connection. Undefined, and the default: nothing. */
  readonly plainAnswer?: ((client: PlainClient) => string | Uint8Array | undefined) | undefined;
}

/** A failed handshake. */
export interface HandshakeFailure {
  /** The code of OpenSSL or of the system. */
  readonly code: string;
  readonly address: string | undefined;
}

/** A client without TLS: its first bytes are a common request of HTTP/1.1, or anything else. */
export type PlainClient = 'http1' | 'other';

/** The codes of OpenSSL for a first message other than TLS. */
const NOT_TLS: ReadonlyMap<string, PlainClient> = new Map([
  ['ERR_SSL_HTTP_REQUEST', 'http1'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'other'],
]);

/** Tracks the handshakes of a server from their start. Call it before the server listens. */
export function trackHandshakes(server: TlsServer, options: TrackHandshakesOptions = {}): Handshakes {
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
