import { open, stat } from 'node:fs/promises';

/** A value loaded from files, and again when they change. */
export interface WatchedFiles<T> {
  /** The last loaded value. */
  readonly current: T;
  close(): void;
}

/** Options of `watchFiles`. */
interface WatchFilesOptions<T> {
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
 * A failed load is tried again after this many times its duration: a large bad file occupies no core. A change
 * of the file does not wait.
 */
const RETRY_FACTOR = 20;

/**
 * Loads a value from files and keeps it up to date. Polling also works if a file is replaced by a rename, behind a
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
  /** The number of polls in a row with another state. */
  let restless = 0;
  let isBusy = false;

  async function poll(): Promise<void> {
    const state = await stateOf(paths);
    // Wait until the files rest: a half-written file may look complete.
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

/** How many polls wait for files under constant change: a change takes effect within 5 s. */
const MAX_RESTLESS_POLLS = 3;

/** Returns a text for the state of the files: it changes with their content. */
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

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file.',
  ENOTDIR: 'There is no such file.',
  EACCES: 'Permission to read it is denied.',
  EPERM: 'Permission to read it is denied.',
  EISDIR: 'It is a directory.',
};

/** A file unreadable as text. The message is one sentence. */
export class FileError extends Error {
  override readonly name = 'FileError';
}

/** Reads a whole file of UTF-8 text. */
export async function readTextFile(path: string, maxBytes: number): Promise<string> {
  const bytes = await readBytes(path, maxBytes).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw new FileError(REASONS[code] ?? `It cannot be read (${code}).`, { cause: error });
  });
  if (bytes.length > maxBytes) throw new FileError(`It is larger than ${maxBytes} bytes.`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new FileError('It is not text in UTF-8.');
  }
}

/** Reads at most one byte more than `maxBytes`. */
async function readBytes(path: string, maxBytes: number): Promise<Uint8Array> {
  const file = await open(path);
  const chunks: Uint8Array[] = [];
  // The stream closes the file, also if it fails.
  for await (const chunk of file.createReadStream({ end: maxBytes })) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** An event of the files and servers behind an authenticator, and of the files of TLS. */
export type AuthEvent =
  | { readonly kind: 'callers_loaded'; readonly path: string; readonly tokens: number }
  /** The file has changed and cannot be used; the last usable content stays in force. */
  | { readonly kind: 'callers_refused'; readonly path: string; readonly reason: string }
  | { readonly kind: 'keys_loaded'; readonly source: string; readonly keys: number }
  /** The keys of JWTs cannot be loaded again; those from before stay in force. */
  | { readonly kind: 'keys_refused'; readonly source: string; readonly reason: string }
  | { readonly kind: 'certificate_loaded'; readonly path: string; readonly expires: Date }
  /** The files of TLS have changed and cannot be used; those from before stay in force. */
  | { readonly kind: 'certificate_refused'; readonly reason: string };

/** The keys of JWTs could not be loaded at the start. The message is for the operator. */
export class KeySetError extends Error {
  override readonly name = 'KeySetError';
}

/** True if the keys come from a URL. */
export function isKeySetUrl(source: string): boolean {
  return source.startsWith('https://');
}
