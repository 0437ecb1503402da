/**
 * What was taken from the start of an iterator, then the rest of it. Not a generator: one that nobody has begun
 * to read does nothing when it is told to end, and what the rest holds would never be let go.
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
