import type { Interface } from 'node:readline/promises';

/** Lines as they are typed, also those that come while nobody waits for one. */
export interface LineQueue {
  /** Undefined: there will be no more. */
  next(): Promise<string | undefined>;
  /** Forgets those that nobody has taken. */
  drop(): void;
  /** The reader takes no more; lines may be left. */
  readonly isClosed: boolean;
}

/** The lines of a reader, from now on. */
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
