import type { EventOf, Observer } from '@svc/service';

/** An observer for few of the refusals, and how to pass on those it holds. */
export interface RefusalSampler {
  readonly observe: Observer;
  /** Reports the held refusals. Call it when the server stops. */
  flush(): void;
}

/**
 * Passes the first refusal of each address in a second on, and then one event with the number of the others: a flood of
 * requests without valid credentials must not fill the log. No refusal is lost from the count.
 */
export function sampleRefusals(observe: Observer): RefusalSampler {
  const held = new Map<string, { count: number; last: EventOf<'caller_refused'> }>();
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const sampled = [...held.values()];
    held.clear();
    for (const { count, last } of sampled) if (count > 0) observe({ ...last, count });
  }
  // Before the audit file is written at an immediate exit.
  process.prependOnceListener('exit', flush);

  return {
    observe(event) {
      if (event.kind !== 'caller_refused') return observe(event);
      const address = event.client?.address ?? '';
      const key = held.has(address) || held.size < MAX_ADDRESSES ? address : OTHERS;
      const sample = held.get(key);
      if (sample !== undefined) {
        sample.count += 1;
        sample.last = event;
        return undefined;
      }
      held.set(key, { count: 0, last: event });
      timer ??= setTimeout(flush, SAMPLE_MS).unref();
      return observe(event);
    },
    flush() {
      process.off('exit', flush);
      flush();
    },
  };
}

const SAMPLE_MS = 1000;
/** Addresses with lines of their own in a second; the others share one. */
const MAX_ADDRESSES = 100;
const OTHERS = 'others';
