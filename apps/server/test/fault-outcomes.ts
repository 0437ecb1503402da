import type { Fault } from '../../../packages/tsdb-proxy/src/testing/fault-relay.ts';

/** What a client sees if the connection to the database fails. */
export interface FaultOutcome {
  readonly fault: Fault;
  /** An error with this status; `cut`: a truncated response; `whole`: only a delay; `short`: the promised length. */
  readonly seen: number | 'cut' | 'whole' | 'short';
  /** How often the statement may have reached the database. */
  readonly arrives: 0 | 1;
  /** The deadline that ends the waiting. */
  readonly deadline?: keyof typeof DEADLINES;
}

/** Deadlines short enough for tests. */
export const DEADLINES = { connect_timeout_ms: 300, timeout_ms: 900, idle_timeout_ms: 600 };

/** Every fault of the relay. */
export const FAULT_OUTCOMES: readonly FaultOutcome[] = [
  { fault: 'refuses', seen: 502, arrives: 0 },
  { fault: 'never connects', seen: 504, arrives: 0, deadline: 'connect_timeout_ms' },
  { fault: 'closes before the head', seen: 502, arrives: 1 },
  { fault: 'resets before the head', seen: 502, arrives: 1 },
  { fault: 'hangs before the head', seen: 504, arrives: 1, deadline: 'timeout_ms' },
  { fault: 'sends a garbage head', seen: 502, arrives: 1 },
  { fault: 'drips its head', seen: 504, arrives: 1, deadline: 'timeout_ms' },
  { fault: 'resets after the head', seen: 'cut', arrives: 1 },
  { fault: 'hangs in the body', seen: 'cut', arrives: 1, deadline: 'idle_timeout_ms' },
  { fault: 'cuts a chunk', seen: 'cut', arrives: 1 },
  { fault: 'resets in a chunk', seen: 'cut', arrives: 1 },
  { fault: 'promises more than it sends', seen: 'cut', arrives: 1 },
  { fault: 'sends more than it promised', seen: 'short', arrives: 1 },
  { fault: 'drips its body', seen: 'whole', arrives: 1 },
];

/** The deadlines as settings of the server. */
export const DEADLINE_SETTINGS = `[tsdb]\n${Object.entries(DEADLINES)
  .map(([name, ms]) => `${name} = ${ms}\n`)
  .join('')}`;
