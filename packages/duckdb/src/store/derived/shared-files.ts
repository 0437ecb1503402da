import { cancelledError, ServiceError } from '@svc/errors';
import { orAborted } from '@svc/errors/internal';
import { createPinnedLru, type Pin, type PinnedLruOptions } from '@svc/frames/streams';

/** Derived files of one form. A file is made when it is opened first; then all share it, until others need its space. */
export interface SharedFiles<Key, File> {
  /** Opens a file. It stays until it is closed. A file is not finished if nothing waits for it. */
  open(key: Key, maker: FileMaker<File>, signal?: AbortSignal): Promise<OpenFile<File>>;
  /** Undefined if there is no file. */
  stateOf(key: Key): 'made' | 'in progress' | undefined;
  /** Removes a file when it is no longer open. */
  remove(key: Key): void;
  /** Removes all files except open ones. */
  clear(): void;
  close(): Promise<void>;
}

/** Makes a file. */
export interface FileMaker<File> {
  /** Calls `onSize` with the size of the file while it grows, and at its end. The signal is aborted if it does not fit. */
  make(signal: AbortSignal, onSize: (bytes: number) => void): Promise<File>;
  /** Returns the error if the file does not fit. */
  tooLarge(): ServiceError;
}

/** An open file. */
export interface OpenFile<File> {
  readonly file: File;
  close(): void;
}

interface Shared<File> {
  readonly made: Promise<File>;
  readonly cancel: AbortController;
  isMade: boolean;
  /** The number of waiting callers. */
  waiting: number;
}

/** Creates an empty set of files. */
export function createSharedFiles<Key, File extends { close(): Promise<void> }>(
  options: Omit<PinnedLruOptions<Key, never>, 'onEvict' | 'dispose'>,
): SharedFiles<Key, File> {
  /** Also replaced files, until they are closed. */
  const all = new Set<Shared<File>>();
  const lru = createPinnedLru<Key, Shared<File>>({ ...options, dispose: (shared) => void end(shared) });

  async function end(shared: Shared<File>): Promise<void> {
    // If it was not made, the caller of `open` got the error. If it cannot be removed, a sweep does so later.
    await shared.made.then((file) => file.close()).catch(() => undefined);
    all.delete(shared);
  }

  function start(key: Key, maker: FileMaker<File>): Pin<Key, Shared<File>> {
    const cancel = new AbortController();
    const made = maker.make(cancel.signal, (bytes) => {
      if (!pin.resize(bytes)) cancel.abort(maker.tooLarge());
    });
    const shared: Shared<File> = { made, cancel, isMade: false, waiting: 0 };
    const pin = lru.create(shared);
    pin.keep(key);
    all.add(shared);
    // The next caller tries again.
    made.then(
      () => (shared.isMade = true),
      () => pin.drop(),
    );
    return pin;
  }

  return {
    async open(key, maker, signal) {
      const pin = lru.pin(key) ?? start(key, maker);
      const shared = pin.value;
      shared.waiting += 1;
      try {
        const file = await orAborted(shared.made, signal);
        return { file, close: () => pin.release() };
      } catch (error) {
        if (shared.waiting === 1 && !shared.isMade) {
          shared.cancel.abort(cancelledError(undefined, 'The request for the file was cancelled.'));
          pin.drop();
        }
        pin.release();
        throw error;
      } finally {
        shared.waiting -= 1;
      }
    },
    stateOf(key) {
      const shared = lru.get(key);
      return shared && (shared.isMade ? 'made' : 'in progress');
    },
    remove: (key) => lru.remove(key),
    clear: () => void lru.evict(() => false),
    async close() {
      for (const { cancel } of all) cancel.abort(new ServiceError('unavailable', 'The server is stopping.'));
      await Promise.all([...all].map(end));
    },
  };
}
