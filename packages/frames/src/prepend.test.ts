import { expect, test } from 'vitest';
import { prepend } from './prepend.ts';

/** A counter that records whether it was closed. */
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
])('%j before the rest gives %j', async (head, all) => {
  const read: number[] = [];
  for await (const item of prepend(head, createCounter().items)) read.push(item);
  expect(read).toEqual(all);
});

test('return closes the rest even if nothing was read', async () => {
  const { items, hasEnded } = createCounter();
  await prepend([1], items).return();
  expect(hasEnded()).toBe(true);
});

test('throw closes the rest', async () => {
  const { items, hasEnded } = createCounter();
  await expect(prepend([1], items).throw(new Error('gone'))).rejects.toThrow('gone');
  expect(hasEnded()).toBe(true);
});
