import { setTimeout as sleep } from 'node:timers/promises';
import type { FrameRef } from '@svc/frames';
import { tooManyChanges } from '../log/frame-log.ts';
import { ChangedByOthers } from './frame-slots.ts';
import type { StoreProblem } from './store-problem.ts';

/** Runs tasks with the same key one at a time, in order. */
interface KeyedQueue {
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
}

/** Creates an empty queue. */
function createKeyedQueue(): KeyedQueue {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run(key, task) {
      const before = tails.get(key) ?? Promise.resolve();
      const result = before.then(task);
      const tail = result
        .catch(() => {})
        .then(() => {
          if (tails.get(key) === tail) tails.delete(key);
        });
      tails.set(key, tail);
      return result;
    },
  };
}

/** The changes of a store. */
export interface Changes {
  /** Runs changes of one handle one at a time. One runs again if another process has changed the frame meanwhile. */
  readonly change: <T>(ref: FrameRef, work: () => Promise<T>) => Promise<T>;
  /** Runs a change of two handles of a tenant while nothing else changes either. */
  readonly changeBoth: <T>(refs: readonly [FrameRef, FrameRef], work: () => Promise<T>) => Promise<T>;
}

/** Runs a change on the newest state of the frames. Fails with `ChangedByOthers` if that is not the newest in the end. */
type Attempt = <T>(refs: readonly FrameRef[], work: () => Promise<T>) => Promise<T>;

/** So often a change runs. */
const MAX_ATTEMPTS = 50;

/** Creates the queues of changes, one for each handle. */
export function createChanges(attempt: Attempt): Changes {
  const queue = createKeyedQueue();
  const inTurn = <T>({ tenant, handle }: FrameRef, work: () => Promise<T>): Promise<T> =>
    queue.run(`${tenant}\0${handle.toLowerCase()}`, work);

  async function runAgain<T>(refs: readonly FrameRef[], work: () => Promise<T>): Promise<T> {
    for (let run = 1; ; run += 1) {
      try {
        return await attempt(refs, work);
      } catch (error) {
        if (!(error instanceof ChangedByOthers)) throw error;
        if (run === MAX_ATTEMPTS) throw tooManyChanges();
        await sleep(Math.random() * Math.min(run, 10) * 10);
      }
    }
  }

  return {
    change: (ref, work) => inTurn(ref, () => runAgain([ref], work)),
    changeBoth([one, other], work) {
      const [a, b] = [one.handle.toLowerCase(), other.handle.toLowerCase()];
      if (a === b) return inTurn(one, () => runAgain([one], work));
      // Always in the same order: two renames must not wait for each other.
      const [first, second] = a < b ? [one, other] : [other, one];
      return inTurn(first, () => inTurn(second, () => runAgain([one, other], work)));
    },
  };
}

/** Changes without a caller, such as removing files. Closing the store waits for them. Failures are reported. */
export class BackgroundChanges {
  /** True once the store is being closed. */
  isSettling = false;
  /** True once all changes are done: from now on, the directory may be another's. */
  isOver = false;
  readonly #changes: Changes;
  readonly #onProblem: (problem: StoreProblem) => void;
  readonly #running = new Set<Promise<void>>();
  /** The names of changes that are to begin. */
  readonly #waiting = new Set<string>();

  constructor(changes: Changes, onProblem: (problem: StoreProblem) => void) {
    this.#changes = changes;
    this.#onProblem = onProblem;
  }

  /** Starts a change. */
  begin(ref: FrameRef, work: () => Promise<void>): void {
    this.track(this.run(ref, work));
  }

  /** Starts a change, unless one of that name has to begin anyway. */
  beginOnce(name: string, ref: FrameRef, work: () => Promise<void>): void {
    if (this.#waiting.has(name)) return;
    this.#waiting.add(name);
    const begun = (): Promise<void> => {
      this.#waiting.delete(name);
      return work();
    };
    this.track(this.run(ref, begun).finally(() => this.#waiting.delete(name)));
  }

  async run(ref: FrameRef, work: () => Promise<void>): Promise<void> {
    await this.#changes.change(ref, work).catch((cause: unknown) => {
      this.#onProblem({ kind: 'not_removed', tenant: ref.tenant, handle: ref.handle, cause });
    });
  }

  track(work: Promise<void>): void {
    const done = work.finally(() => this.#running.delete(done));
    this.#running.add(done);
  }

  /** Resolves when all of it is done. */
  async settle(): Promise<void> {
    this.isSettling = true;
    while (this.#running.size > 0) await Promise.all(this.#running);
    this.isOver = true;
  }
}
