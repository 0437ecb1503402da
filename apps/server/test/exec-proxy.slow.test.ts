import { expect, test } from 'vitest';
import { growthOfSlowRead } from './slow-reader.ts';

test.runIf(process.platform === 'linux')('1 GB to a slow reader keeps memory flat', async () => {
  expect(await growthOfSlowRead(128, 1024)).toBeLessThan(64);
});
