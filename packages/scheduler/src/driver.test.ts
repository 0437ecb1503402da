import { expect, test } from 'vitest';
import { rememberSuccess, waitForStops } from './driver.ts';

test('work runs once for all callers, again after it failed, and again when it is forgotten', async () => {
  const seen: string[] = [];
  const work = rememberSuccess(async (name: string) => {
    seen.push(name);
    if (name === 'bad') throw new Error('no');
    return seen.length;
  });
  const failing = [work.get('bad'), work.get('second')].map((one) => expect(one).rejects.toThrow('no'));
  await Promise.all(failing);
  expect(await Promise.all([work.get('third'), work.get('fourth')])).toEqual([2, 2]);
  work.forget();
  expect(await work.get('fifth')).toBe(3);
  expect(seen).toEqual(['bad', 'third', 'fifth']);
});

const NEVER = new Promise<never>(() => {});

test.each([
  ['all are confirmed', [Promise.resolve(), Promise.resolve()], 60_000],
  ['the time is over', [Promise.resolve(), NEVER], 1],
])('a close waits for stops until %s', async (_, stops, limitMs) => {
  await expect(waitForStops(stops, limitMs)).resolves.toBeUndefined();
});
