import { setImmediate } from 'node:timers/promises';

/** How long work may go on before other requests get a turn. */
const MAX_TURN_MS = 5;
/** Without a pause for this long, work began in this turn. */
const IDLE_MS = 100;

/** The clock of the thread: the steps of a request are in several functions, and each alone is short. */
let startMs = 0;
let turn: Promise<void> | undefined;

/**
 * Returns a function to await within long work: it lets the event loop turn if the last turn was some milliseconds ago. All
 * that wait at the same time wait for the same turn.
 */
export function createYield(): () => Promise<void> | undefined {
  return () => {
    const passedMs = performance.now() - startMs;
    if (turn === undefined && passedMs >= MAX_TURN_MS) turn = nextTurn(passedMs >= IDLE_MS);
    return turn;
  };
}

async function nextTurn(isFirst: boolean): Promise<void> {
  // The first one still runs in this turn if the work began with data from a socket or a message from a thread.
  if (isFirst) await setImmediate();
  await setImmediate();
  startMs = performance.now();
  turn = undefined;
}
