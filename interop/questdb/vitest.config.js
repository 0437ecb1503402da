import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['interop/questdb/*.test.ts'],
    globalSetup: ['interop/questdb/global-setup.ts'],
    // One database for all, so that one file does not disturb what another one measures.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 240_000,
  },
});
