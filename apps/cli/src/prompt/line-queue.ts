import type { Interface } from 'node:readline/promises';

/** A queue of typed lines, including those that arrive while no reader waits. */
export interface LineQueue {
  /** Resolves to the next line; undefined at the end. */
  next(): Promise<string | undefined>;
  /** Discards the queued lines. */
  drop(): void;
  /** Whether the input has ended; lines may still be queued. */
  readonly isClosed: boolean;
}

/** Creates a queue of the lines of a readline interface. */
export function createLineQueue(rl: Interface): LineQueue {
  const lines: string[] = [];
  let isClosed = false;
  let take: ((line: string | undefined) => void) | undefined;
  rl.on('line', (line) => {
    if (take === undefined) lines.push(line);
    else take(line);
    take = undefined;
  });
  rl.on('close', () => {
    isClosed = true;
    take?.(undefined);
  });
  return {
    async next() {
      if (lines.length > 0 || isClosed) return lines.shift();
      return new Promise((resolve) => (take = resolve));
    },
    drop: () => void lines.splice(0),
    get isClosed() {
      return isClosed;
    },
  };
}
