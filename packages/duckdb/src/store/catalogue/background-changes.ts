import type { FrameRef } from '@svc/frames';
import type { Changes } from './changes.ts';
import type { StoreProblem } from './store-problem.ts';

/** Changes without a caller, such as removing files. Closing the store waits for them. Failures are reported. */
export class BackgroundChanges {
  /** True once the store is being closed. */
  isSettling = false;
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
  }
}
