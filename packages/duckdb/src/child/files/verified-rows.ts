import { setImmediate } from 'node:timers/promises';

/** Rows that are verified little by little. */
export interface VerifiedRows {
  /** Resolves when so many of the rows are verified. */
  upTo(rows: number): Promise<void>;
  /** Verifies all of them once more, because what reads them has failed. */
  again(): Promise<{ readonly isChecked: boolean }>;
  end(): Promise<void>;
}

/** A part that was verified: how many bytes it has, and how many of the rows asked for are verified with it. */
export interface Step {
  readonly bytes: number;
  readonly rows: number;
}

/** So much is verified ahead of the rows that are asked for. */
const AHEAD_BYTES = 64 * 1024 * 1024;

/** Rows whose steps are taken a little ahead of what is asked for, while DuckDB reads the same bytes. */
export function createVerifiedRows(steps: AsyncGenerator<Step, unknown>, again: VerifiedRows['again']): VerifiedRows {
  const done: { rows: number; aheadBytes: number; failure?: Error } = { rows: 0, aheadBytes: 0 };
  /** The step that is being taken, if one is. */
  let turn: Promise<void> | undefined;
  let isOver = false;

  async function step(): Promise<void> {
    try {
      // What nobody waits for lets others go first.
      if (done.aheadBytes > 0) await setImmediate();
      const next = await steps.next();
      done.rows = next.done === true ? Infinity : next.value.rows;
      done.aheadBytes += next.done === true ? 0 : next.value.bytes;
    } catch (error) {
      done.failure = error instanceof Error ? error : new Error(String(error));
    }
    turn = undefined;
    goOn();
  }

  function goOn(): void {
    if (isOver || done.failure !== undefined || done.rows === Infinity || done.aheadBytes >= AHEAD_BYTES) return;
    turn ??= step();
  }

  return {
    async upTo(count) {
      done.aheadBytes = 0;
      goOn();
      while (done.rows < count && done.failure === undefined) {
        await turn;
        done.aheadBytes = 0;
        goOn();
      }
      if (done.failure !== undefined) throw done.failure;
    },
    again,
    async end() {
      isOver = true;
      await turn;
      await steps.return(undefined);
    },
  };
}
