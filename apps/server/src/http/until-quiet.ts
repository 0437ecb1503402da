import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Connections } from './connections.ts';

/** Turns of the event loop without a new connection, after which none is waiting: Node accepts one in a turn. */
const QUIET_TURNS = 20;
/** More than the system lets wait: if new ones come all the time, some are refused in the end. */
const MAX_TURNS = 1000;

/**
 * Resolves when no connection is waiting to be accepted. The system accepts connections for a process that gets no CPU
 * time, and resets those that are waiting when the listener closes. Limited in turns: such a process needs long for one.
 */
export async function untilQuiet(connections: Pick<Connections, 'accepted'>): Promise<void> {
  let accepted = connections.accepted();
  for (let turn = 0, quiet = 0; turn < MAX_TURNS && quiet < QUIET_TURNS; turn += 1) {
    await nextTurn();
    const before = accepted;
    accepted = connections.accepted();
    quiet = accepted === before ? quiet + 1 : 0;
  }
}
