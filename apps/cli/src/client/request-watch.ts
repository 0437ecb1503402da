import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import * as v from 'valibot';

/** Aborts a request that would hang. */
export interface RequestWatch {
  /** Aborted by the user, by the timeout, and by a connection that closed unnoticed. */
  readonly signal: AbortSignal;
  /** Starts the timeout. */
  startClock(): void;
  stopClock(): void;
  /** Must be called when the head of the response has arrived, or has failed to. */
  headSettled(): void;
}

/** Options of a watch. */
export interface RequestWatchOptions {
  readonly url: string;
  readonly signal: AbortSignal;
  /** Undefined: no timeout. */
  readonly timeoutMs: number | undefined;
}

/** The abort reason of a request that timed out. */
export class ResponseTimeoutError extends Error {
  override readonly name = 'ResponseTimeoutError';

  constructor(timeoutMs: number) {
    super(`the server did not answer within ${timeoutMs / 1000} s`);
  }
}

const CONNECTED = 'undici:client:connected';
const CONNECTION = v.object({ connectParams: v.object({ host: v.string() }), socket: v.instance(Socket) });

/** Starts to watch a request; call it before the request is sent. */
export function watchRequest({ url, signal, timeoutMs }: RequestWatchOptions): RequestWatch {
  const { host } = new URL(url);
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // In Node 20 fetch loads its HTTP parser after its first connection opens, and only then listens to it. If the
  // connection closes before that, the promise of fetch never settles.
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
      // The connection keeps the process alive; without one there is nothing to wait for.
      timer.unref();
    },
    stopClock: () => clearTimeout(timer),
    headSettled: () => void unsubscribe(CONNECTED, onConnected),
  };
}
