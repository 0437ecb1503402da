import { expect, test } from 'vitest';
import { countBesideBombs } from './sql-clients.ts';

test('a client gets its short answers before one of twelve endless statements reaches its time limit', async () => {
  expect(await countBesideBombs(3)).toEqual([[[2]], [[2]], [[2]]]);
});
