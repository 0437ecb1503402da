import { stat } from 'node:fs/promises';

/** A value that is loaded from files, and loaded again when they change. */
export interface WatchedFiles<T> {
  /** The value that was loaded last. */
  readonly current: T;
  close(): void;
}

/** Options of `watchFiles`. */
export interface WatchFilesOptions<T> {
  readonly paths: readonly string[];
  /** Loads the value. If it fails after a change, the value before stays until a later attempt succeeds. */
  readonly load: () => Promise<T>;
  /** Called when a changed value is loaded. */
  readonly onChange?: ((value: T) => void) | undefined;
  /** Called with the error of `load` after a change, once for each change. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
  /** How often to look for changes. Default 1000. */
  readonly pollMs?: number | undefined;
}

/**
 * A load that failed is tried again after this many times its duration, so that a large bad file occupies no core. A change
 * of the file does not wait for that.
 */
const RETRY_FACTOR = 20;

/**
 * Loads a value from files and keeps it up to date. Polls: that also works if a file is replaced by a rename, behind a
 * symbolic link, and on network file systems. Throws if the first load fails.
 */
export async function watchFiles<T>(options: WatchFilesOptions<T>): Promise<WatchedFiles<T>> {
  const { paths, load, onChange, onFailure, pollMs = 1000 } = options;
  // Before the load: a change during the load is seen by the next poll.
  let seen = await stateOf(paths);
  let current = await load();
  let previous = seen;
  /** The state whose failure was reported. */
  let failed: string | undefined;
  let retryMs = 0;
  /** The number of polls in a row that saw another state. */
  let restless = 0;
  let isBusy = false;

  async function poll(): Promise<void> {
    const state = await stateOf(paths);
    // Wait until the files rest: a file that is being written may look complete.
    const isResting = state === previous;
    previous = state;
    restless = isResting ? 0 : restless + 1;
    const isWriting = !isResting && restless < MAX_RESTLESS_POLLS;
    if (state === seen || isWriting || (state === failed && performance.now() < retryMs)) return;
    restless = 0;
    const startMs = performance.now();
    try {
      current = await load();
    } catch (error) {
      const endMs = performance.now();
      retryMs = endMs + RETRY_FACTOR * (endMs - startMs);
      if (failed !== state) onFailure?.(error);
      failed = state;
      return;
    }
    seen = state;
    failed = undefined;
    onChange?.(current);
  }

  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    void poll().finally(() => {
      isBusy = false;
    });
  }, pollMs).unref();

  return {
    get current() {
      return current;
    },
    close: () => clearInterval(timer),
  };
}

/** How many polls wait for files that change all the time: a change takes effect within 5 s. */
const MAX_RESTLESS_POLLS = 3;

/** Returns a text that changes with the content of the files. */
async function stateOf(paths: readonly string[]): Promise<string> {
  const states = paths.map(async (path) => {
    try {
      const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
      return [dev, ino, size, mtimeNs, ctimeNs].join(':');
    } catch {
      return 'unreadable';
    }
  });
  return (await Promise.all(states)).join(' ');
}
