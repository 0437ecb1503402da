import { expect, test } from 'vitest';
import { countBesideBombs } from './sql-clients.ts';

test('a client gets its short answer before one of twelve endless statements reaches its time limit', async () => {
  expect(await countBesideBombs(1)).toEqual([[[2]]]);
});
