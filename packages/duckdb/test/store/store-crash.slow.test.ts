import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { crash } from '../crash.ts';

test.each([
  ['arrow', 15],
  ['duckdb', 35],
])('with %s files, after %i kills, the store holds exactly the acknowledged changes', async (kind, rounds) => {
  const { acknowledged, failures } = await crash(kind, rounds);
  expect(acknowledged).toBeGreaterThan(rounds);
  expect(failures > 0).toBe(kind === 'duckdb' && existsSync('/proc/self/task'));
});
