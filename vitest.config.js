import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';

/** Folders whose tests start processes: the engine's children, the server, the command line. */
const PROCESS = ['packages/duckdb/{src,test}/**', 'apps/*/test/**', 'test'];
/** The others run inside the test runner. */
const UNIT = ['packages/!(duckdb)/src/**', 'packages/!(client|duckdb)/test/**', 'proto/src/**', 'apps/console/src/**'];
const UNIT_TESTS = UNIT.map((folder) => `${folder}/*.test.ts`);
/** Files that change a module or a clock for all that is in their process, or measure its memory or CPU time. */
const ISOLATED = ['exec-app', 'decoders', 'json-memory', 'dictionary-values', 'connections'].map(
  (name) => `packages/*/src/**/${name}.test.ts`,
);
/** Each file has a server of its own, which the setup ends after the file. */
const SERVER = ['apps/server/test/**', 'packages/client/test/**'];
const SERVER_TESTS = SERVER.map((folder) => `${folder}/*.test.ts`);
const SERVER_SETUP = ['apps/server/test/setup.ts'];
const SETUP = ['test/setup.ts'];
/** Files that measure the event loop of a server: one after the other, when nothing else runs. */
const MEASURED = ['apps/server/test/event-loop*.test.ts'];
/** Long tests; the file beside each has a sample of them. */
const SLOW = '**/*.slow.test.ts';
/** Tests of random values run in both tiers: test/tier.ts says how many values in which. */
const PROPERTIES = '*-properties.test.ts';

// `npm test` runs all projects but thorough, without the tests that have the tag slow. `npm run test:slow` runs those,
// and the project thorough.
export default defineConfig({
  test: {
    // Tests wait for what they expect, which may be late on a busy machine: these only end one that hangs.
    testTimeout: 60_000,
    // Node loads what is built, without the transform of Vite.
    server: { deps: { external: [/\/dist\//] } },
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    // By default Vitest leaves one core free, which is half of a machine with two. Two more run while others wait.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    provide: { tier: 'fast' },
    tags: [{ name: 'slow', description: 'Takes a second or more: run by `npm run test:slow` alone.' }],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: UNIT_TESTS,
          exclude: [...configDefaults.exclude, SLOW, ...ISOLATED],
          setupFiles: SETUP,
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: PROCESS.map((folder) => `${folder}/*.test.ts`),
          exclude: [...configDefaults.exclude, SLOW, ...SERVER_TESTS],
          setupFiles: SETUP,
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'server',
          include: SERVER_TESTS,
          exclude: [...configDefaults.exclude, SLOW, ...MEASURED],
          setupFiles: [...SETUP, ...SERVER_SETUP],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'measured',
          include: MEASURED,
          exclude: [...configDefaults.exclude, SLOW],
          setupFiles: [...SETUP, ...SERVER_SETUP],
          maxWorkers: 1,
          // Each request is tried several times if others take its time.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'isolated', include: ISOLATED, exclude: [...configDefaults.exclude, SLOW] },
      },
      {
        extends: true,
        test: {
          name: 'thorough',
          include: [...new Set([...PROCESS, ...UNIT, ...SERVER])].flatMap((folder) => [
            `${folder}/*.slow.test.ts`,
            `${folder}/${PROPERTIES}`,
          ]),
          provide: { tier: 'thorough' },
          setupFiles: [...SETUP, ...SERVER_SETUP],
          testTimeout: 120_000,
        },
      },
    ],
  },
});
