/** Starts tasks in order, a few in each turn of the event loop. */
export interface Turns {
  /** Starts a task: now, or in a later turn if this one has started enough. */
  start(task: () => void): void;
}

/**
 * Creates turns of `size` tasks, and of up to twice as many if others start between them. Without a limit, the requests of
 * many connections make the turns so long that what Node does once in a turn, such as to accept a connection, waits for
 * seconds.
 */
export function createTurns(size: number): Turns {
  const waiting: (() => void)[] = [];
  let free = size;

  function startNext(): void {
    const task = waiting.shift();
    if (task === undefined) free += 1;
    else run(task);
  }

  function run(task: () => void): void {
    // An immediate of its own: Node finishes what a task can do at once before it runs the next.
    setImmediate(startNext);
    task();
  }

  return {
    start(task) {
      if (free === 0) waiting.push(task);
      else {
        free -= 1;
        run(task);
      }
    },
  };
}
