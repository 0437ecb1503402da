import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, Server } from 'node:net';

/** Options of `bindListener`. */
export interface BindOptions {
  readonly address: string;
  readonly port: number;
  /** Called with the socket server before it accepts a connection. */
  readonly onListener: (listener: Server) => void;
}

/**
 * Runs `bind`, which must listen on the address, and passes the socket server that it opens to `onListener`: nice-grpc
 * does not expose it. If listening fails, the error is the system's.
 */
export async function bindListener<T>(options: BindOptions, bind: () => Promise<T>): Promise<T> {
  const { address, port, onListener } = options;
  // Try the address first: grpc-js hides the system's error and prints to stderr.
  const attempt = createServer().listen({ host: address, port });
  await once(attempt, 'listening');
  await once(attempt.close(), 'close');

  const storage = new AsyncLocalStorage<true>();
  const onListen = (message: unknown) => {
    if (storage.getStore() === true && hasServer(message)) onListener(message.server);
  };
  subscribe(LISTEN_STARTS, onListen);
  try {
    return await storage.run(true, bind);
  } finally {
    unsubscribe(LISTEN_STARTS, onListen);
    // An active AsyncLocalStorage makes every promise of the process more expensive.
    storage.disable();
  }
}

const LISTEN_STARTS = 'tracing:net.server.listen:asyncStart';

function hasServer(message: unknown): message is { readonly server: Server } {
  return typeof message === 'object' && message !== null && 'server' in message && message.server instanceof Server;
}
