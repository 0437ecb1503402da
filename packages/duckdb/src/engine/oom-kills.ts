import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The processes that the system's out-of-memory killer has ended in the control group (cgroup) of this process. */
export interface OomKills {
  /**
   * Returns true if there was one since the start that no other call has claimed. The system counts it before the process
   * is gone. Children run in the same group.
   */
  claim(): boolean;
}

/** Starts to count. `root` is the root directory; the count stays 0 on a system without control groups. */
export function createOomKills(root = '/'): OomKills {
  const file = counterFile(root);
  let claimed = countIn(file) ?? 0;
  return {
    claim() {
      const isNew = (countIn(file) ?? 0) > claimed;
      if (isNew) claimed += 1;
      return isNew;
    },
  };
}

/** Finds the file with the count: that of version 2 of control groups, or of version 1. */
function counterFile(root: string): string | undefined {
  const groups = textOf(join(root, 'proc/self/cgroup')) ?? '';
  const v2 = /^0::(.*)$/m.exec(groups)?.[1];
  const v1 = /^\d+:(?:[\w,]+,)?memory(?:,[\w,]+)?:(.*)$/m.exec(groups)?.[1];
  const files = [
    ...(v1 === undefined ? [] : filesOf('sys/fs/cgroup/memory', v1, 'memory.oom_control')),
    ...(v2 === undefined ? [] : filesOf('sys/fs/cgroup', v2, 'memory.events')),
  ];
  return files.map((file) => join(root, file)).find((file) => countIn(file) !== undefined);
}

/** In a container, the path may be that of the host, and its own group is at the top. */
function filesOf(mount: string, group: string, name: string): readonly string[] {
  return [join(mount, group, name), join(mount, name)];
}

function countIn(file: string | undefined): number | undefined {
  const count = /^oom_kill (\d+)$/m.exec(textOf(file) ?? '')?.[1];
  return count === undefined ? undefined : Number(count);
}

function textOf(file: string | undefined): string | undefined {
  try {
    return file === undefined ? undefined : readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
