import { inject, type TestOptions } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Which tests are run: the fast ones of `npm test`, or the thorough ones of `npm run test:slow`. */
    readonly tier: 'fast' | 'thorough';
  }
}

/** How often a property is tried: as often as this in the thorough tier, a tenth as often in the fast one. */
export function runs(count: number): number {
  return inject('tier') === 'thorough' ? count : Math.ceil(count / 10);
}

/**
 * The rows of a long table of tests, by tier: every fourth is fast, the others are slow. Use it if each row takes time and
 * other tests show the same for all rows; pass the options to the tests of the rows.
 */
export function byTier<const Row>(rows: readonly Row[]): readonly (readonly [TestOptions, readonly Row[]])[] {
  return [
    [{}, rows.filter((_, index) => index % 4 === 0)],
    [SLOW, rows.filter((_, index) => index % 4 !== 0)],
  ];
}

/** The options of a test that `npm run test:slow` alone runs. */
export const SLOW: TestOptions = { tags: ['slow'] };
