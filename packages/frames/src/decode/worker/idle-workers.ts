import type { WorkerLink } from './worker-link.ts';

/** The idle workers of a pool. Those that are not needed for a while are ended, except for a few. */
export interface IdleWorkers {
  add(link: WorkerLink): void;
  /** Takes a worker that is alive, if there is one. */
  take(): WorkerLink | undefined;
  /** Ends no more workers. */
  close(): void;
}

/** Idle workers cost memory; two are enough to save most bodies the start of a worker. */
const MAX_IDLE_WORKERS = 2;
/** How long more workers are kept: a start costs more than to decode a small body, and concurrent clients send many. */
const MAX_IDLE_MS = 2000;

/** Creates an empty set. */
export function createIdleWorkers(): IdleWorkers {
  const idle: WorkerLink[] = [];
  /** The fewest idle workers since the timer was set. */
  let fewest = 0;
  let timer: NodeJS.Timeout | undefined;

  function trimLater(): void {
    if (timer !== undefined || idle.length <= MAX_IDLE_WORKERS) return;
    fewest = idle.length;
    timer = setTimeout(() => {
      timer = undefined;
      for (let unused = fewest - MAX_IDLE_WORKERS; unused > 0; unused--) {
        void idle.shift()?.end(new Error('The decoding worker is no longer needed.'));
      }
      trimLater();
    }, MAX_IDLE_MS).unref();
  }

  return {
    add(link) {
      idle.push(link);
      trimLater();
    },
    take() {
      // The most recently used one, so that the others become old.
      let link = idle.pop();
      while (link?.isAlive === false) link = idle.pop();
      fewest = Math.min(fewest, idle.length);
      return link;
    },
    close: () => clearTimeout(timer),
  };
}
