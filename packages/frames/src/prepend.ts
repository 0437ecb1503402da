/**
 * Puts items back in front of an iterator. Not a generator: `return()` on a generator that has not started does not run
 * its `finally`, so `rest` would never be closed.
 */
export function prepend<T>(head: readonly T[], rest: AsyncIterator<T, void>): AsyncGenerator<T, void> {
  const queue = [...head];
  const end = { done: true, value: undefined } as const;
  return {
    next: async () => {
      const value = queue.shift();
      return value === undefined ? rest.next() : { done: false, value };
    },
    return: async () => (await rest.return?.()) ?? end,
    throw: async (error) => {
      await rest.return?.();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
