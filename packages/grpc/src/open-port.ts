import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, Server, type Socket } from 'node:net';

/** A bound port. Its clients wait until a server takes it over. */
export interface OpenPort {
  readonly host: string;
  readonly port: number;
  /** Closes the port and its connections, unless a server has taken it over. */
  close(): Promise<void>;
  /**
   * Runs `bind`, which must listen on any address, and makes it listen here instead. Passes its socket server, which
   * nice-grpc does not expose, to `onListener`. Then passes the waiting connections on.
   */
  takeOver(bind: () => Promise<unknown>, onListener: (listener: Server) => void): Promise<void>;
}

/**
 * Binds a port; 0 picks a free one. Loads no gRPC module, so that a program can bind first and load them later. If the
 * address cannot be bound, the error is the system's, with its `code`, such as `EADDRINUSE`.
 */
export async function openPort(host: string, port: number): Promise<OpenPort> {
  const waiting = new Set<Socket>();
  const bound = createServer((socket) => {
    waiting.add(socket.on('error', ignore));
    socket.once('close', () => waiting.delete(socket));
  });
  bound.maxConnections = MAX_WAITING;
  await once(bound.listen({ host, port }), 'listening');
  let isTaken = false;
  const address = bound.address();
  if (address === null || typeof address === 'string') throw new Error(`${host} is not an address of TCP.`);

  return {
    host: address.address,
    port: address.port,
    async close() {
      if (isTaken) return;
      for (const socket of waiting) socket.destroy();
      await once(bound.close(), 'close');
    },
    async takeOver(bind, onListener) {
      let listener: Server | undefined;
      await onListen(bind, ({ server, options }) => {
        // Node listens on the handle of this object, if it has one: here a bound one.
        Object.assign(options, { _handle: '_handle' in bound ? bound._handle : undefined });
        isTaken = true;
        listener = server;
        onListener(server);
      });
      for (const socket of waiting) listener?.emit('connection', socket.off('error', ignore));
      waiting.clear();
    },
  };
}

/** The most waiting clients while the modules are loaded. */
const MAX_WAITING = 1000;

/** A failed connection also closes. */
function ignore(): void {}

/** Runs `bind`, and calls `onServer` with its socket server before that listens. */
async function onListen(bind: () => Promise<unknown>, onServer: (start: ListenStart) => void): Promise<void> {
  const storage = new AsyncLocalStorage<true>();
  const onStart = (message: unknown): void => {
    if (storage.getStore() === true && isListenStart(message)) onServer(message);
  };
  subscribe(LISTEN_STARTS, onStart);
  try {
    await storage.run(true, bind);
  } finally {
    unsubscribe(LISTEN_STARTS, onStart);
    // An active AsyncLocalStorage makes every promise of the process more expensive.
    storage.disable();
  }
}

const LISTEN_STARTS = 'tracing:net.server.listen:asyncStart';

/** A server about to listen. */
interface ListenStart {
  readonly server: Server;
  readonly options: object;
}

function isListenStart(message: unknown): message is ListenStart {
  if (typeof message !== 'object' || message === null || !('server' in message && 'options' in message)) return false;
  return message.server instanceof Server && typeof message.options === 'object' && message.options !== null;
}
