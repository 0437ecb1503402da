import { expect, test } from 'vitest';
import { crash } from '../crash.ts';

test.each([
  ['arrow', 2],
  ['duckdb', 3],
])('with files of kind %s, %i times killed, what was acknowledged is there and nothing else', async (kind, rounds) => {
  const { failures } = await crash(kind, rounds);
  if (kind === 'arrow') expect(failures).toBe(0);
});
