import { setImmediate } from 'node:timers/promises';

/** How long work may go on before other requests get a turn. */
const MAX_TURN_MS = 5;

/**
 * Returns a function to await within long work: it lets the event loop turn if the work has taken some milliseconds since
 * the last time. Parts of the work that wait at the same time wait for the same turn.
 */
export function createYield(): () => Promise<void> | undefined {
  let startMs = performance.now();
  let turn: Promise<void> | undefined;
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
