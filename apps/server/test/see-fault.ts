import { DEADLINES, type FaultOutcome } from './fault-outcomes.ts';

/** What a client saw of an answer. */
export interface Seen {
  readonly seen: FaultOutcome['seen'];
  readonly text: string;
  readonly ms: number;
}

/** A busy machine may be so much later than a deadline. */
const LATE_MS = 3_000;

/** Asks and says what came of it, seen from outside. */
export async function see(url: string, whole: string, short = '{}'): Promise<Seen> {
  const started = performance.now();
  const response = await fetch(url);
  const text = await response.text().catch(() => undefined);
  const ms = performance.now() - started;
  if (text === undefined) return { seen: 'cut', text: '', ms };
  if (response.status !== 200) return { seen: response.status, text, ms };
  return { seen: text === whole ? 'whole' : text === short ? 'short' : response.status, text, ms };
}

/** Whether it came when it had to: not before the deadline that ends it, and not long after. */
export function isInTime({ ms }: Seen, { deadline }: FaultOutcome): boolean {
  const dueMs = deadline === undefined ? 0 : DEADLINES[deadline];
  return ms > dueMs - 20 && ms < dueMs + LATE_MS;
}
