import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['interop/console/*.test.ts'],
    setupFiles: ['apps/server/test/setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    // Each browser takes a core.
    fileParallelism: false,
  },
});
