import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTurns } from '../src/http/turns.ts';

test('a task starts at once', () => {
  const started: number[] = [];
  createTurns(2).start(() => started.push(1));
  expect(started).toEqual([1]);
});

test('of many tasks, a turn starts only some, and all start in order', async () => {
  const turns = createTurns(4);
  const started: number[] = [];
  for (let i = 0; i < 100; i += 1) turns.start(() => started.push(i));
  expect(started).toHaveLength(4);
  for (let before = 4; before < 100; before = started.length) {
    await nextTurn();
    expect(started.length).toBeGreaterThan(before);
    expect(started.length - before).toBeLessThanOrEqual(8);
  }
  expect(started).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

test('a group with few tasks does not wait for all of another', async () => {
  const turns = createTurns(1);
  const started: string[] = [];
  const names = [...Array.from({ length: 10 }, (_, i) => `a${i}`), 'b0', 'b1'];
  for (const name of names) {
    turns.start(
      () => started.push(name),
      () => ['address', name.slice(0, 1)],
    );
  }
  while (started.length < names.length) await nextTurn();
  expect(started.slice(0, 6)).toEqual(['a0', 'a1', 'b0', 'a2', 'b1', 'a3']);
});

test('an address with many credentials has as many turns as one with few', async () => {
  const turns = createTurns(1);
  const started: string[] = [];
  const calls = [
    ['first', 'x'],
    ...Array.from({ length: 10 }, (_, i) => ['flood', String(i)] as const),
    ['other', 'y'],
    ['other', 'y'],
    ['flood', '0'],
  ] as const;
  for (const [address, credential] of calls) {
    turns.start(
      () => started.push(`${address} ${credential}`),
      () => [address, credential],
    );
  }
  while (started.length < calls.length) await nextTurn();
  expect(started.slice(0, 6)).toEqual(['first x', 'flood 0', 'other y', 'flood 1', 'other y', 'flood 2']);
  expect(started.at(-1)).toBe('flood 0');
});

test('what a task does at once is done before the next one starts', async () => {
  const turns = createTurns(1);
  const seen: string[] = [];
  const done = ['a', 'b', 'c'].map(
    (name) =>
      new Promise<void>((resolve) => {
        turns.start(() => {
          seen.push(`${name} starts`);
          void Promise.resolve()
            .then(() => seen.push(`${name} ends`))
            .then(() => resolve());
        });
      }),
  );
  await Promise.all(done);
  expect(seen).toEqual(['a starts', 'a ends', 'b starts', 'b ends', 'c starts', 'c ends']);
});

test('a task that fails does not stop the ones after it', async () => {
  const turns = createTurns(1);
  const started: string[] = [];
  expect(() =>
    turns.start(() => {
      throw new Error('failed');
    }),
  ).toThrow('failed');
  turns.start(() => started.push('next'));
  await nextTurn();
  expect(started).toEqual(['next']);
});
