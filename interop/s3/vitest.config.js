import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['interop/s3/*.test.ts'],
    testTimeout: 120_000,
    // The first build takes minutes.
    hookTimeout: 1_200_000,
  },
});
