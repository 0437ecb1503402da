import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Connections } from './connections.ts';

/** How long no client connects until none is waiting: longer than it takes from a connection to its request. */
const PAUSE_MS = 5;
/** If clients come all the time, at most this many pauses. */
const MAX_PAUSES = 40;

/** Resolves when the clients that waited for the listener are answered. */
export async function untilAnswered(connections: Pick<Connections, 'accepted' | 'inFlight'>): Promise<void> {
  for (let pause = 0; pause < MAX_PAUSES; pause += 1) {
    const accepted = connections.accepted();
    await sleep(PAUSE_MS);
    // Timers run before connections are accepted.
    await nextTurn();
    if (connections.accepted() === accepted && connections.inFlight() === 0) return;
  }
}
