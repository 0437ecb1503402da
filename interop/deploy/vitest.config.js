import { defineConfig } from 'vitest/config';

// One file at a time: they share the machine.
export default defineConfig({
  test: {
    include: ['interop/deploy/*.test.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
