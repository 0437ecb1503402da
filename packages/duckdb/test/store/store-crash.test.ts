import { test } from 'vitest';
import { crash } from '../crash.ts';

test('after kill -9 the store holds exactly the acknowledged changes', async () => {
  await crash('duckdb', 1);
});
