import type { FrameRef } from '@svc/frames';

/** Runs tasks with the same key one at a time, in order. */
interface KeyedQueue {
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
}

/** Creates an empty queue. */
function createKeyedQueue(): KeyedQueue {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run(key, task) {
      const before = tails.get(key) ?? Promise.resolve();
      const result = before.then(task);
      const tail = result
        .catch(() => {})
        .then(() => {
          if (tails.get(key) === tail) tails.delete(key);
        });
      tails.set(key, tail);
      return result;
    },
  };
}

/** The changes of a store. */
export interface Changes {
  /** Runs changes of one handle one at a time. */
  change<T>(ref: FrameRef, work: () => Promise<T>): Promise<T>;
  /** Runs a change of two handles of a tenant while nothing else changes either. */
  changeBoth<T>(refs: readonly [FrameRef, FrameRef], work: () => Promise<T>): Promise<T>;
}

/** Creates the queues of changes, one for each handle. */
export function createChanges(): Changes {
  const queue = createKeyedQueue();
  const change: Changes['change'] = ({ tenant, handle }, work) => queue.run(`${tenant}\0${handle.toLowerCase()}`, work);
  return {
    change,
    changeBoth([one, other], work) {
      const [a, b] = [one.handle.toLowerCase(), other.handle.toLowerCase()];
      if (a === b) return change(one, work);
      // Always in the same order: two renames must not wait for each other.
      const [first, second] = a < b ? [one, other] : [other, one];
      return change(first, () => change(second, work));
    },
  };
}
