import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import * as v from 'valibot';

/** Ends a request that would wait for ever. */
export interface RequestWatch {
  /** Aborted by the user, by the clock, and by a connection that closed unseen. */
  readonly signal: AbortSignal;
  /** Starts the clock. */
  startClock(): void;
  stopClock(): void;
  /** To be called when the head of the answer is there, or will never be. */
  headSettled(): void;
}

/** What a watch needs. */
export interface RequestWatchOptions {
  readonly url: string;
  readonly signal: AbortSignal;
  /** Undefined: the clock never ends the request. */
  readonly timeoutMs: number | undefined;
}

/** The reason of a request that took too long. */
export class ResponseTimeoutError extends Error {
  override readonly name = 'ResponseTimeoutError';

  constructor(timeoutMs: number) {
    super(`the server did not answer within ${timeoutMs / 1000} s`);
  }
}

const CONNECTED = 'undici:client:connected';
const CONNECTION = v.object({ connectParams: v.object({ host: v.string() }), socket: v.instance(Socket) });

/** Starts to watch a request that is about to be sent. */
export function watchRequest({ url, signal, timeoutMs }: RequestWatchOptions): RequestWatch {
  const { host } = new URL(url);
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // In Node 20 fetch loads its HTTP parser when its first connection is open, and listens to the connection only then. One
  // that closed meanwhile is never heard of, and the promise of fetch never settles.
  const onConnected = (message: unknown): void => {
    if (!v.is(CONNECTION, message) || message.connectParams.host !== host || !message.socket.destroyed) return;
    controller.abort(Object.assign(new Error('closed'), { code: 'UND_ERR_SOCKET' }));
  };
  subscribe(CONNECTED, onConnected);
  return {
    signal: AbortSignal.any([signal, controller.signal]),
    startClock() {
      if (timeoutMs === undefined) return;
      timer = setTimeout(() => controller.abort(new ResponseTimeoutError(timeoutMs)), timeoutMs);
      // The connection keeps the process; without one there is nothing to wait for.
      timer.unref();
    },
    stopClock: () => clearTimeout(timer),
    headSettled: () => void unsubscribe(CONNECTED, onConnected),
  };
}
