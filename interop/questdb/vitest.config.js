import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['interop/questdb/*.test.ts'],
    globalSetup: ['interop/questdb/global-setup.ts'],
    setupFiles: ['apps/server/test/setup.ts'],
    // All files share one database: run them one at a time, so that they do not disturb measurements.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 240_000,
  },
});
