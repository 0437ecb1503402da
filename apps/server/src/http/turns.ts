/** Starts tasks, a few in each turn of the event loop. */
export interface Turns {
  /**
   * Starts a task: now, or in a later turn if this one has started enough. The groups of tasks take turns, and those of a
   * group start in order.
   */
  start(task: () => void, groupOf?: () => string): void;
}

/**
 * Creates turns of `size` tasks, and of up to twice as many if others start between them. Without a limit, the requests of
 * many connections make the turns so long that what Node does once in a turn, such as to accept a connection, waits for
 * seconds.
 */
export function createTurns(size: number): Turns {
  /** The tasks of each group that has some. The first group is next. */
  const waiting = new Map<string, (() => void)[]>();
  let free = size;

  function takeNext(): (() => void) | undefined {
    const [first] = waiting;
    if (first === undefined) return undefined;
    const [group, tasks] = first;
    const task = tasks.shift();
    waiting.delete(group);
    if (tasks.length > 0) waiting.set(group, tasks);
    return task;
  }

  function startNext(): void {
    const task = takeNext();
    if (task === undefined) free += 1;
    else run(task);
  }

  function run(task: () => void): void {
    // An immediate of its own: Node finishes what a task can do at once before it runs the next.
    setImmediate(startNext);
    task();
  }

  return {
    start(task, groupOf = () => '') {
      if (free > 0) {
        free -= 1;
        return run(task);
      }
      const group = groupOf();
      const tasks = waiting.get(group);
      if (tasks === undefined) waiting.set(group, [task]);
      else tasks.push(task);
    },
  };
}
