import { setImmediate } from 'node:timers/promises';

/** Incremental verification of rows. */
export interface VerifiedRows {
  /** Resolves when this many rows are verified. */
  upTo(rows: number): Promise<void>;
  /** Verifies all rows again, because reading them has failed. */
  again(): Promise<{ readonly isChecked: boolean }>;
  end(): Promise<void>;
}

/** A verified part: its bytes, and how many of the requested rows are verified after it. */
export interface Step {
  readonly bytes: number;
  readonly rows: number;
}

/** How many bytes are verified ahead of the requested rows. */
const AHEAD_BYTES = 64 * 1024 * 1024;

/** Creates a verification that runs a little ahead of the requested rows, while DuckDB reads the same bytes. */
export function createVerifiedRows(steps: AsyncGenerator<Step, unknown>, again: VerifiedRows['again']): VerifiedRows {
  const done: { rows: number; aheadBytes: number; failure?: Error } = { rows: 0, aheadBytes: 0 };
  /** The current step, if there is one. */
  let current: Promise<void> | undefined;
  let isOver = false;

  async function step(): Promise<void> {
    try {
      // Verification ahead of demand yields to other work.
      if (done.aheadBytes > 0) await setImmediate();
      const next = await steps.next();
      done.rows = next.done === true ? Infinity : next.value.rows;
      done.aheadBytes += next.done === true ? 0 : next.value.bytes;
    } catch (error) {
      done.failure = error instanceof Error ? error : new Error(String(error));
    }
    current = undefined;
    goOn();
  }

  function goOn(): void {
    if (isOver || done.failure !== undefined || done.rows === Infinity || done.aheadBytes >= AHEAD_BYTES) return;
    current ??= step();
  }

  return {
    async upTo(count) {
      done.aheadBytes = 0;
      goOn();
      while (done.rows < count && done.failure === undefined) {
        await current;
        done.aheadBytes = 0;
        goOn();
      }
      if (done.failure !== undefined) throw done.failure;
    },
    again,
    async end() {
      isOver = true;
      await current;
      await steps.return(undefined);
    },
  };
}
