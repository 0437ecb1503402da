import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The processes that the system's out-of-memory killer has ended in the control group (cgroup) of this process. */
export interface OomKills {
  /**
   * Returns true if there was one since the start that no other call has claimed. The system counts it before the process
   * is gone. Children run in the same group. Call this only for a process that has ended by SIGKILL: an old kernel counts
   * how often the group reached its limit of memory, not the kills.
   */
  claim(): boolean;
}

/** Starts to count. `root` is the root directory; the count stays 0 on a system without control groups. */
export function createOomKills(root = '/'): OomKills {
  const counter = counterOf(root);
  let claimed = (counter && countIn(counter)) ?? 0;
  return {
    claim() {
      const count = (counter && countIn(counter)) ?? 0;
      const isNew = count > claimed;
      if (isNew) claimed = counter?.text === KILLS ? claimed + 1 : count;
      return isNew;
    },
  };
}

/** A file, and where its count is. */
interface Counter {
  readonly file: string;
  readonly text: RegExp;
}

const KILLS = /^oom_kill (\d+)$/m;
/** One kill is many of these failures. */
const FAILURES = /^(\d+)\s*$/;

/** Finds the count of version 2 of control groups, or of version 1. Kernels before 4.13 do not count kills. */
function counterOf(root: string): Counter | undefined {
  const groups = textOf(join(root, 'proc/self/cgroup')) ?? '';
  const v2 = /^0::(.*)$/m.exec(groups)?.[1];
  const v1 = /^\d+:(?:[\w,]+,)?memory(?:,[\w,]+)?:(.*)$/m.exec(groups)?.[1];
  // In a container, the path may be that of the host, and its own group is at the top.
  const find = (text: RegExp, mount: string, group: string | undefined, name: string): Counter | undefined =>
    (group === undefined ? [] : [join(root, mount, group, name), join(root, mount, name)])
      .map((file) => ({ file, text }))
      .find((counter) => countIn(counter) !== undefined);
  return (
    find(KILLS, 'sys/fs/cgroup/memory', v1, 'memory.oom_control') ??
    find(KILLS, 'sys/fs/cgroup', v2, 'memory.events') ??
    find(FAILURES, 'sys/fs/cgroup/memory', v1, 'memory.failcnt')
  );
}

function countIn({ file, text }: Counter): number | undefined {
  const count = text.exec(textOf(file) ?? '')?.[1];
  return count === undefined ? undefined : Number(count);
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
