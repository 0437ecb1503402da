import { expect, test } from 'vitest';
import { crash } from '../crash.ts';

test.each([
  ['arrow', 1],
  ['duckdb', 2],
])('with %s files, after %i × kill -9 the store holds exactly the acknowledged changes', async (kind, rounds) => {
  const { failures } = await crash(kind, rounds);
  if (kind === 'arrow') expect(failures).toBe(0);
});
