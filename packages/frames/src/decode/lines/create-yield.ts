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
      turn = nextTurn();
    }
    return turn;
  };
}

async function nextTurn(): Promise<void> {
  // The first one still runs in this turn if the work began with data from a socket or a message from a thread.
  await setImmediate();
  await setImmediate();
  startMs = performance.now();
  turn = undefined;
}
