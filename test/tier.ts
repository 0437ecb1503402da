import { inject } from 'vitest';

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
