import { expect, test } from 'vitest';
import { prepend } from './prepend.ts';

/** Counts, and remembers whether it was told to end. */
function createCounter(): { readonly items: AsyncIterator<number, void>; readonly hasEnded: () => boolean } {
  let hasEnded = false;
  let count = 2;
  return {
    items: {
      next: async () => (count < 4 ? { done: false, value: ++count } : { done: true, value: undefined }),
      return: async () => {
        hasEnded = true;
        return { done: true, value: undefined };
      },
    },
    hasEnded: () => hasEnded,
  };
}

test.each([
  [[], [3, 4]],
  [[1], [1, 3, 4]],
  [
    [1, 2],
    [1, 2, 3, 4],
  ],
])('%j and what is left is %j', async (head, all) => {
  const read: number[] = [];
  for await (const item of prepend(head, createCounter().items)) read.push(item);
  expect(read).toEqual(all);
});

test('what is left is told to end even when nothing was read', async () => {
  const { items, hasEnded } = createCounter();
  await prepend([1], items).return();
  expect(hasEnded()).toBe(true);
});

test('what is left is told to end when the reader fails', async () => {
  const { items, hasEnded } = createCounter();
  await expect(prepend([1], items).throw(new Error('gone'))).rejects.toThrow('gone');
  expect(hasEnded()).toBe(true);
});
