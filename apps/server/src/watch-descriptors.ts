import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { devNull } from 'node:os';
import { isOutOfFiles } from '@svc/errors/internal';
import type { Store, StoreFault } from '@svc/frames';
import type { Log } from './observers/log.ts';

/** The file descriptors of this process. */
export interface Descriptors {
  /** Adds the lack of descriptors to the faults of a store; readiness follows them. Closing the store ends the watch. */
  addFault(store: Store): Store;
  /** Counts for the metrics. Only Linux shows `open` and `limit`. */
  count(): Promise<DescriptorCounts>;
}

/** The file descriptors of this process in numbers. */
export interface DescriptorCounts {
  readonly open: number | undefined;
  readonly limit: number | undefined;
  /** The seconds so far without a free descriptor. */
  readonly exhaustedSeconds: number;
}

const PROBE_MS = 1000;
const WARN_MS = 60_000;
/** Opening any file shows if a descriptor is free. This one also has the limit, and takes 0.1 ms. */
const PROBED_FILE = process.platform === 'linux' ? '/proc/self/limits' : devNull;

/** Without the limit: anyone may ask for the readiness. */
const FAULT: StoreFault = {
  kind: 'out_of_files',
  message: 'The server has as many files and connections open as the system allows.',
};

/**
 * Tries once a second to open a file, and logs a failure. Nothing else tells: without a free descriptor, libuv closes
 * new connections and reports no error.
 */
export function watchDescriptors(log: Log): Descriptors {
  let limit: number | undefined;
  let isExhausted = false;
  let exhaustedSeconds = 0;
  let warnedAtMs = -Infinity;
  /** A recovery is logged only after a warning: clients coming and going must not fill the log. */
  let isWarned = false;

  function probe(): void {
    const failure = tryProbe();
    isExhausted = failure !== undefined;
    if (failure !== undefined) {
      exhaustedSeconds += PROBE_MS / 1000;
      if (performance.now() - warnedAtMs < WARN_MS) return;
      warnedAtMs = performance.now();
      isWarned = true;
      log.warn(warningOf(failure, limit), { cause: failure.message });
    } else if (isWarned) {
      isWarned = false;
      log.info('Files and connections can be opened again.');
    }
  }

  function tryProbe(): Error | undefined {
    try {
      const found = /^Max open files\s+(\d+)/m.exec(readFileSync(PROBED_FILE, 'utf8'))?.[1];
      limit = found === undefined ? undefined : Number(found);
    } catch (error) {
      if (error instanceof Error && isOutOfFiles(error)) return error;
    }
    return undefined;
  }

  probe();
  const timer = setInterval(probe, PROBE_MS).unref();
  return {
    addFault: (store) => ({
      ...store,
      faults: async () => [...(isExhausted ? [FAULT] : []), ...(await store.faults())],
      async close() {
        clearInterval(timer);
        await store.close();
      },
    }),
    async count() {
      const open = await readdir('/proc/self/fd').then(
        ({ length }) => length,
        (error: unknown) => (isOutOfFiles(error) ? limit : undefined),
      );
      return { open, limit, exhaustedSeconds };
    },
  };
}

function warningOf({ message }: Error, limit: number | undefined): string {
  const effect = 'New clients are disconnected.';
  if (message.startsWith('ENFILE')) {
    return `All processes together have as many files and connections open as the system allows. ${effect} Raise fs.file-max.`;
  }
  const shown = limit === undefined ? '' : ` (${limit})`;
  return `The server has as many files and connections open as the system allows${shown}. ${effect} Raise ulimit -n (LimitNOFILE of systemd), or lower http.max_connections and server.max_connections.`;
}
