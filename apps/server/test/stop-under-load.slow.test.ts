import { test } from 'vitest';
import { stopUnderLoad } from './stop-under-load.ts';

test('a server with 50 busy clients stops in order: no request is cut, and no acknowledged write is lost', async () => {
  await stopUnderLoad({ clientsOfEach: 25, rows: 200_000, drainDelayMs: 5000 });
});
