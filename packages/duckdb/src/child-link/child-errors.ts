import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildExitReason, RequestOrigin } from '@svc/frames';
import type { ChildFailure } from '../wire/requests.ts';

/** A failure reported by a child. */
export class ChildError extends Error {
  readonly failure: ChildFailure;

  constructor(failure: ChildFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** A child exited during a request. */
export class ChildCrash extends Error {
  readonly isOutOfMemory: boolean;
  /** True if it was killed because it stopped responding. */
  readonly hasHung: boolean;
  /** True if the system killed it because the memory of its control group, or of the machine, was used up. */
  readonly isOomKill: boolean;

  constructor(reason: string, lastWords: string, { hasHung = false, isOomKill = false } = {}) {
    super(`The engine child ended (${reason}${isOomKill ? ', out of memory in its cgroup' : ''}): ${lastWords}`);
    this.hasHung = hasHung;
    this.isOomKill = isOomKill;
    this.isOutOfMemory = isOomKill || /out of memory|bad_alloc|cannot allocate|allocation failed/i.test(lastWords);
  }
}

/** What to do about `isOomKill`. */
export const OOM_KILL_HINT =
  'Sending it again will not help. Ask for less at once, or give the server more memory: the operator can raise the limit of its container or service, or lower storage.cache_size_gb, sql.memory_gb and sql.max_concurrent.';

/** True if a request ran out of memory, and its child is still alive. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof ChildError && /^out of memory error|failed to allocate|bad_alloc/i.test(error.message);
}

/**
 * True if DuckDB reported an internal or fatal error. It then refuses every later statement, so the child must be
 * replaced. The pattern is anchored: the message of an ordinary error may quote these words from the data.
 */
export function isBroken(error: unknown): boolean {
  return error instanceof ChildError && /^(?:INTERNAL|FATAL) Error/.test(error.message);
}

/** True if DuckDB refused this request because an earlier one broke it. It may succeed on a new child. */
export function isBrokenByAnother(error: unknown): boolean {
  return isBroken(error) && error instanceof Error && /database has been invalidated/.test(error.message);
}

/** True if the engine or the request caused a failure: it then says nothing about the file. */
export function isOfTheEngine(error: unknown): boolean {
  if (error instanceof ChildCrash) return true;
  return isBroken(error) || isOutOfMemory(error) || (error instanceof ChildError && error.failure.code === 'cancelled');
}

/** How a child ended. */
export interface ChildEnd {
  readonly reason: ChildExitReason;
  /** The client requests in flight, each once. */
  readonly requests: readonly RequestOrigin[];
}

/** Counts the kills of the system's out-of-memory killer in the control group (cgroup) of this process. */
export interface OomKills {
  /**
   * Returns true, once for each kill since the start. The system counts a kill before the process is gone. Children run in
   * the same group. Call this only for a process ended by SIGKILL: an old kernel counts how often the group reached its
   * limit of memory, not the kills.
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
