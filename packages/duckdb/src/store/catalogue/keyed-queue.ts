/** Lets tasks with the same key run one after the other. */
export interface KeyedQueue {
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
}

/** A queue with nothing in it. */
export function createKeyedQueue(): KeyedQueue {
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
