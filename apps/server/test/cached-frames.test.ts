import { expect, test } from 'vitest';
import { readManyFrames } from './read-many-frames.ts';

const CACHE_BYTES = 1e6;

test.skipIf(process.platform !== 'linux')(
  'over 16 reads of 8 frames the process takes no more than the cache and 256 MB',
  async () => {
    // All frames are four times what the cache holds.
    const most = await readManyFrames({ frames: 8, reads: 16, cacheBytes: CACHE_BYTES });
    expect(most).toBeLessThan(CACHE_BYTES + 256 * 2 ** 20);
  },
);
