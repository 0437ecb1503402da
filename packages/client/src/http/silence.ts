/** Aborts a request when its caller does, or when the server is silent for too long. */
export interface Silence {
  readonly signal: AbortSignal;
  /** Whether the server was silent for too long. */
  readonly isTooLong: boolean;
  /** The server must do something from now on. */
  expect(extraMs?: number): void;
  /** The server did it. */
  stop(): void;
  /** The request has ended: its signal follows that of the caller no longer. */
  end(): void;
}

/** Starts to watch a request. `onAbort` is called if it is aborted before its end. */
export function watchSilence(
  timeoutMs: number,
  caller: AbortSignal | undefined,
  onAbort: (() => void) | undefined,
): Silence {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isTooLong = false;
  let isEnded = false;
  // Not AbortSignal.any: in Node 20 it does not keep a signal of AbortSignal.timeout, which then never aborts.
  const follow = (): void => controller.abort(caller?.reason);
  if (caller?.aborted) follow();
  else if (onAbort !== undefined) controller.signal.addEventListener('abort', onAbort, { once: true });
  caller?.addEventListener('abort', follow, { once: true });
  const stop = (): void => clearTimeout(timer);
  return {
    signal: controller.signal,
    get isTooLong() {
      return isTooLong;
    },
    stop,
    expect(extraMs = 0) {
      stop();
      // The source of an upload may outlive its request; a timer would keep the process alive.
      if (isEnded) return;
      const ms = timeoutMs + extraMs;
      // Timers have 32 bits.
      if (ms > 0x7fffffff) return;
      timer = setTimeout(() => {
        isTooLong = true;
        controller.abort();
      }, ms);
    },
    end() {
      isEnded = true;
      stop();
      caller?.removeEventListener('abort', follow);
    },
  };
}
