import { expect, test } from 'vitest';
import { readManyFrames } from './read-many-frames.ts';

const CACHE_BYTES = 25e6;

test.skipIf(process.platform !== 'linux')(
  'over 1 000 reads of 200 frames the process takes no more than the cache and 256 MB',
  async () => {
    // All frames are four times what the cache holds; 100 MB are read from disk five times over.
    const most = await readManyFrames({ frames: 200, reads: 1000, cacheBytes: CACHE_BYTES });
    expect(most).toBeLessThan(CACHE_BYTES + 256 * 2 ** 20);
  },
);
