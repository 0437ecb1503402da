import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{packages,apps}/*/{src,test}/**/*.test.ts', 'proto/src/**/*.test.ts', 'test/*.test.ts'],
    testTimeout: 20_000,
  },
});
