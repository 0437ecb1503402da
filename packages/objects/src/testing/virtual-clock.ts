/** A clock whose time passes when nothing else can happen: hours take milliseconds, and each run is the same. */
export interface VirtualClock {
  /** Milliseconds since the clock began. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Lets time pass until the work has settled. Fails if it waits for something other than this clock. */
  run<T>(work: Promise<T>): Promise<T>;
}

/** Creates a clock at 0. */
export function createVirtualClock(): VirtualClock {
  const sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  let time = 0;

  async function advance(isSettled: () => boolean): Promise<void> {
    for (;;) {
      // All promises that can settle have settled.
      await new Promise(setImmediate);
      if (isSettled()) return;
      const next = sleepers.shift();
      if (next === undefined) throw new Error('The work waits for something other than the clock.');
      time = next.at;
      next.wake();
    }
  }

  return {
    now: () => time,
    sleep: (ms) =>
      new Promise((wake) => {
        const at = time + ms;
        const later = sleepers.findIndex((other) => other.at > at);
        sleepers.splice(later === -1 ? sleepers.length : later, 0, { at, wake });
      }),
    async run(work) {
      let isSettled = false;
      const settle = (): void => {
        isSettled = true;
      };
      work.then(settle, settle);
      await advance(() => isSettled);
      return work;
    },
  };
}
