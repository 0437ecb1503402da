import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

const { PRIORITY_NORMAL, PRIORITY_BELOW_NORMAL } = constants.priority;

/** The CPU priority of another process. */
export interface ProcessPriority {
  /** Lowers it below normal. */
  lower(): void;
  /** Restores it to normal. Returns false if the system does not allow it: on Linux this needs a privilege. */
  restore(): boolean;
}

/** Controls the priority of a process, which must be normal at first. */
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

/** Sets the priority of a process. Returns whether it succeeded. */
function setAll(pid: number, priority: number): boolean {
  try {
    for (const id of threadsOf(pid)) setPriority(id, priority);
    return true;
  } catch {
    // The process has exited, or the system does not allow it.
    return false;
  }
}

/** The ids to set the priority of: on Linux each thread has its own, elsewhere only the process. */
function threadsOf(pid: number): readonly number[] {
  if (process.platform !== 'linux') return [pid];
  return readdirSync(`/proc/${pid}/task`).map(Number);
}
