import { expect, test } from 'vitest';
import { crash } from '../crash.ts';

test.each([
  ['arrow', 2],
  ['duckdb', 3],
])('with %s files, after %i kills, the store holds exactly the acknowledged changes', async (kind, rounds) => {
  const { failures } = await crash(kind, rounds);
  if (kind === 'arrow') expect(failures).toBe(0);
});
