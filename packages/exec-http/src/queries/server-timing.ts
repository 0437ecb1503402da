import type { QueryTiming } from '@svc/service';

/** Returns the header that tells clients, also browsers, how long a statement waited and ran until its first rows. */
export function serverTiming({ waitMs, executeMs }: QueryTiming): { readonly 'server-timing': string } {
  return { 'server-timing': `queue;dur=${waitMs.toFixed(3)}, execute;dur=${executeMs.toFixed(3)}` };
}
