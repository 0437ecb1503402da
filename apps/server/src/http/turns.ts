/** The group of a task, and its subgroup. */
export type Groups = readonly [group: string, subgroup: string];

/** Starts tasks, a few in each turn of the event loop. */
export interface Turns {
  /**
   * Starts a task: now, or in a later turn if this one has started enough. Groups take turns, and in a group its subgroups;
   * the tasks of a subgroup start in order.
   */
  start(task: () => void, groupsOf?: () => Groups): void;
}

/**
 * Creates turns of `size` tasks, and of up to twice as many if others start between them. Without a limit, the requests
 * of many connections make the turns long. Node accepts a connection only once in a turn, and would do so after
 * seconds.
 */
export function createTurns(size: number): Turns {
  /** The tasks of each subgroup of each group. The first is next. */
  const waiting = new Map<string, Map<string, (() => void)[]>>();
  let free = size;

  function takeNext(): (() => void) | undefined {
    const [group, subgroups] = takeFirst(waiting);
    const [subgroup, tasks] = takeFirst(subgroups);
    const task = tasks?.shift();
    if (subgroups === undefined || tasks === undefined) return task;
    // To the end of the row.
    if (tasks.length > 0) subgroups.set(subgroup, tasks);
    if (subgroups.size > 0) waiting.set(group, subgroups);
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
    start(task, groupsOf = () => ['', '']) {
      if (free > 0) {
        free -= 1;
        return run(task);
      }
      const [group, subgroup] = groupsOf();
      const subgroups = waiting.get(group) ?? new Map<string, (() => void)[]>();
      const tasks = subgroups.get(subgroup) ?? [];
      tasks.push(task);
      waiting.set(group, subgroups.set(subgroup, tasks));
    },
  };
}

/** Removes the first entry. */
function takeFirst<T>(map: Map<string, T> | undefined): readonly [key: string, value: T | undefined] {
  const [first] = map ?? [];
  if (first === undefined) return ['', undefined];
  map?.delete(first[0]);
  return first;
}
