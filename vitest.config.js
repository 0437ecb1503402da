import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{packages,apps}/*/{src,test}/**/*.test.ts', 'proto/src/**/*.test.ts', 'test/*.test.ts'],
    // Tests wait for what they expect, which may be late on a busy machine: these only end one that hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
