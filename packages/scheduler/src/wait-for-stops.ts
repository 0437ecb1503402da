import { setTimeout as delay } from 'node:timers/promises';

/** A cluster that is busy may confirm a stop only after the time that a shutdown has. */
const CLOSE_MS = 1000;

/** Waits until a closing driver has stopped its statements, but not for long. */
export async function waitForStops(stops: readonly Promise<unknown>[], limitMs: number = CLOSE_MS): Promise<void> {
  const ended = new AbortController();
  const late = delay(limitMs, undefined, { signal: ended.signal }).catch(() => undefined);
  await Promise.race([Promise.all(stops), late]).finally(() => ended.abort());
}
