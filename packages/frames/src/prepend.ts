/**
 * Puts items back in front of an iterator. Not a generator: `return()` on a generator that has not started does not run
 * its `finally`, so `rest` would never be closed.
 */
export function prepend<T>(head: readonly T[], rest: AsyncIterator<T, unknown>): AsyncGenerator<T, void> {
  const queue = [...head];
  const end = { done: true, value: undefined } as const;
  return {
    next: async () => {
      const value = queue.shift();
      if (value !== undefined) return { done: false, value };
      const next = await rest.next();
      return next.done === true ? end : next;
    },
    return: async () => {
      await rest.return?.();
      return end;
    },
    throw: async (error) => {
      await rest.return?.();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
