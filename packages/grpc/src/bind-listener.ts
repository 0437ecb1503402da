import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, Server } from 'node:net';

/** Where to listen, and what to do with who listens. */
export interface BindOptions {
  readonly address: string;
  readonly port: number;
  /** Gets the socket server before it accepts a connection. */
  readonly onListener: (listener: Server) => void;
}

/**
 * Runs `bind`, which is to listen on the address, and hands out the socket server that it opens: nice-grpc does not show
 * it. Where the address cannot be listened on, the error is the system's.
 */
export async function bindListener<T>(options: BindOptions, bind: () => Promise<T>): Promise<T> {
  const { address, port, onListener } = options;
  // grpc-js hides the system's error, and prints a line of its own on stderr: so the address is tried before.
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
    // As long as there is one, every promise of the process is more expensive.
    storage.disable();
  }
}

const LISTEN_STARTS = 'tracing:net.server.listen:asyncStart';

function hasServer(message: unknown): message is { readonly server: Server } {
  return typeof message === 'object' && message !== null && 'server' in message && message.server instanceof Server;
}
