import { expect, test } from 'vitest';
import { readManyFrames } from './read-many-frames.ts';

const CACHE_BYTES = 5e6;

test.skipIf(process.platform !== 'linux')(
  'over 80 reads of 40 frames the process takes no more than the cache and 256 MB',
  { tags: ['slow'] },
  async () => {
    // All frames are four times what the cache holds.
    const most = await readManyFrames({ frames: 40, reads: 80, cacheBytes: CACHE_BYTES });
    expect(most).toBeLessThan(CACHE_BYTES + 256 * 2 ** 20);
  },
);
