import { describe, expect, test } from 'vitest';
import { prepend, readHead } from './streams.ts';

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

async function* upTo(last: number): AsyncGenerator<number, void> {
  for (let i = 1; i <= last; i += 1) yield i;
}

async function itemsOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = [];
  for await (const item of items) read.push(item);
  return read;
}

describe('a stream that is read until the item 2', () => {
  test.each([
    [0, [], true],
    [1, [1], true],
    // Whether an item follows is not known.
    [2, [1, 2], false],
    [4, [1, 2], false],
  ])('of %i items has the head %j', async (last, expected, expectedWhole) => {
    const { head, isWhole, all } = await readHead(upTo(last), (item) => item === 2);
    expect([head, isWhole]).toEqual([expected, expectedWhole]);
    expect(await itemsOf(all)).toEqual(await itemsOf(upTo(last)));
  });
});

test('an abort fails at once and closes a stream that sends nothing', async () => {
  let isClosed = false;
  const silent: AsyncIterable<number, void> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => undefined),
      return: async () => {
        isClosed = true;
        return { done: true, value: undefined };
      },
    }),
  };
  const controller = new AbortController();
  const reading = readHead(silent, () => false, controller.signal);
  controller.abort();
  await expect(reading).rejects.toMatchObject({ code: 'cancelled' });
  expect(isClosed).toBe(true);
});

test('a stream that fails fails with its own error', async () => {
  async function* failing(): AsyncGenerator<number, void> {
    yield 1;
    throw new Error('broken');
  }
  await expect(readHead(failing(), () => false)).rejects.toThrow('broken');
});
