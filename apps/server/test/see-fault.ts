import { DEADLINES, type FaultOutcome } from './fault-outcomes.ts';

/** The response as a client saw it. */
export interface Seen {
  readonly seen: FaultOutcome['seen'];
  readonly text: string;
  readonly ms: number;
}

/** The delay after a deadline that a busy machine may add. */
const LATE_MS = 3_000;

/** Sends a request and describes the outcome, as a client sees it. */
export async function see(url: string, whole: string, short = '{}'): Promise<Seen> {
  const started = performance.now();
  const response = await fetch(url);
  const text = await response.text().catch(() => undefined);
  const ms = performance.now() - started;
  if (text === undefined) return { seen: 'cut', text: '', ms };
  if (response.status !== 200) return { seen: response.status, text, ms };
  return { seen: text === whole ? 'whole' : text === short ? 'short' : response.status, text, ms };
}

/** Whether it was on time: not before its deadline, and not long after. */
export function isInTime({ ms }: Seen, { deadline }: FaultOutcome): boolean {
  const dueMs = deadline === undefined ? 0 : DEADLINES[deadline];
  return ms > dueMs - 20 && ms < dueMs + LATE_MS;
}
