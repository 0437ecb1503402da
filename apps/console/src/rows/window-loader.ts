import type { Window } from './windows.ts';

/** What loads one window. It resolves when the window is loaded, or cannot be. */
export interface WindowLoaderOptions {
  readonly maxRequests: number;
  /** Whether a window needs no request: it is there, or it will never be. */
  readonly isSettled: (key: string) => boolean;
  readonly load: (window: Window, signal: AbortSignal) => Promise<void>;
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
export function createWindowLoader({ maxRequests, isSettled, load }: WindowLoaderOptions): WindowLoader {
  const running = new Map<string, AbortController>();
  let wanted: readonly Window[] = [];
  let wantedKeys: ReadonlySet<string> = new Set();
  let isPaused = false;

  function send(): void {
    for (const window of wanted) {
      if (isPaused) return;
      if (isSettled(window.key) || running.has(window.key)) continue;
      if (running.size >= maxRequests && !abortUnwanted()) return;
      void run(window);
    }
  }

  /** Ends the oldest request that nothing waits for; false if there is none. */
  function abortUnwanted(): boolean {
    for (const [key, abort] of running) {
      if (wantedKeys.has(key)) continue;
      running.delete(key);
      abort.abort();
      return true;
    }
    return false;
  }

  async function run(window: Window): Promise<void> {
    const abort = new AbortController();
    running.set(window.key, abort);
    try {
      await load(window, abort.signal);
    } finally {
      if (running.get(window.key) === abort) running.delete(window.key);
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
