import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

const { PRIORITY_NORMAL, PRIORITY_BELOW_NORMAL } = constants.priority;

/** The CPU priority of another process. */
export interface ProcessPriority {
  /** Lets others go first. */
  lower(): void;
  /** Makes it normal again. Returns false if the system does not allow that: on Linux it takes a privilege. */
  restore(): boolean;
}

/** The priority of a process, which is normal at first. */
export function processPriority(pid: number): ProcessPriority {
  let isLow = false;
  return {
    lower() {
      isLow = true;
      setAll(pid, PRIORITY_BELOW_NORMAL);
    },
    restore() {
      if (isLow) isLow = !setAll(pid, PRIORITY_NORMAL);
      return !isLow;
    },
  };
}

/** Sets the priority of a process. Returns whether that could be done. */
function setAll(pid: number, priority: number): boolean {
  try {
    for (const id of threadsOf(pid)) setPriority(id, priority);
    return true;
  } catch {
    // It has ended, or the system does not allow it.
    return false;
  }
}

/** What has a priority of its own in a process: on Linux each thread, elsewhere the process. */
function threadsOf(pid: number): readonly number[] {
  if (process.platform !== 'linux') return [pid];
  return readdirSync(`/proc/${pid}/task`).map(Number);
}
