import type { Window } from './windows.ts';

/** What loads windows, and how many. */
export interface WindowLoaderOptions {
  readonly maxRequests: number;
  /** Whether two windows can be loaded with one request, the second after the first. */
  readonly canJoin: (first: Window, second: Window) => boolean;
  /** Whether a window needs no request: it is there, or it will never be. */
  readonly isSettled: (key: string) => boolean;
  /** Loads one window, or two with one request. It resolves when they are loaded, or cannot be. */
  readonly load: (windows: readonly Window[], signal: AbortSignal) => Promise<void>;
}

/** Sends requests for the windows that are wanted, a few at a time. */
export interface WindowLoader {
  /** Replaces the wishes. Requests for others go on, unless their place is needed. */
  want(windows: readonly Window[]): void;
  /** Sends what is wanted and not there. */
  send(): void;
  /** Sends nothing until the next call with false. */
  setPaused(isPaused: boolean): void;
  close(): void;
}

/** Creates a loader without wishes. */
export function createWindowLoader({ maxRequests, canJoin, isSettled, load }: WindowLoaderOptions): WindowLoader {
  const running = new Map<string, AbortController>();
  let wanted: readonly Window[] = [];
  let wantedKeys: ReadonlySet<string> = new Set();
  let isPaused = false;

  function send(): void {
    for (const [i, window] of wanted.entries()) {
      if (isPaused) return;
      if (!isMissing(window)) continue;
      if (new Set(running.values()).size >= maxRequests && !abortUnwanted()) return;
      // A view over the border of two windows costs one request: the server opens the frame for each.
      const next = wanted[i + 1];
      void run(next !== undefined && isMissing(next) && canJoin(window, next) ? [window, next] : [window]);
    }
  }

  const isMissing = ({ key }: Window): boolean => !isSettled(key) && !running.has(key);

  /** Ends the oldest request that nothing waits for; false if there is none. */
  function abortUnwanted(): boolean {
    const needed = new Set([...running].filter(([key]) => wantedKeys.has(key)).map(([, abort]) => abort));
    const unwanted = [...running.values()].find((abort) => !needed.has(abort));
    if (unwanted === undefined) return false;
    forget(unwanted);
    unwanted.abort();
    return true;
  }

  function forget(request: AbortController): void {
    for (const [key, abort] of running) if (abort === request) running.delete(key);
  }

  async function run(windows: readonly Window[]): Promise<void> {
    const abort = new AbortController();
    for (const { key } of windows) running.set(key, abort);
    try {
      await load(windows, abort.signal);
    } finally {
      forget(abort);
    }
    if (!abort.signal.aborted) send();
  }

  return {
    want(windows) {
      wanted = windows;
      wantedKeys = new Set(windows.map(({ key }) => key));
      send();
    },
    send,
    setPaused(value) {
      isPaused = value;
      send();
    },
    close() {
      isPaused = true;
      for (const abort of running.values()) abort.abort();
      running.clear();
    },
  };
}
