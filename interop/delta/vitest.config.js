import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['interop/delta/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
