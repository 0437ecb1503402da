import { expect, test } from 'vitest';
import { waitForStops } from './wait-for-stops.ts';

const NEVER = new Promise<never>(() => {});

test.each([
  ['all are confirmed', [Promise.resolve(), Promise.resolve()], 60_000],
  ['the time is over', [Promise.resolve(), NEVER], 1],
])('a close waits for stops until %s', async (_, stops, limitMs) => {
  await expect(waitForStops(stops, limitMs)).resolves.toBeUndefined();
});
