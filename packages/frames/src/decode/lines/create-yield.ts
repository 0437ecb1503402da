import { setImmediate } from 'node:timers/promises';

/** How long work may go on before other requests get a turn. */
const MAX_TURN_MS = 5;

/** The clock of the thread: the steps of a request are in several functions, and each alone is short. */
let startMs = 0;
let turn: Promise<void> | undefined;

/**
 * Returns a function to await within long work: it lets the event loop turn if the last turn was some milliseconds ago. All
 * that wait at the same time wait for the same turn.
 */
export function createYield(): () => Promise<void> | undefined {
  return () => {
    if (turn === undefined && performance.now() - startMs >= MAX_TURN_MS) {
      turn = setImmediate().then(() => {
        startMs = performance.now();
        turn = undefined;
      });
    }
    return turn;
  };
}
