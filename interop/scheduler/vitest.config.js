import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['interop/scheduler/*.test.ts'],
    // One cluster at a time: they need the memory and the cores.
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 420_000,
    // Tests wait for what they expect, which may be late on a busy machine.
    expect: { poll: { timeout: 30_000 } },
  },
});
