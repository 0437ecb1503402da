import type { Api } from '../api/api.ts';
import { readQuery, type RunningSql } from '../api/queries.ts';

/** Most statements end before it; a bar that flashes up only disturbs. */
export const PROGRESS_DELAY_MS = 300;
/** Earlier, so that the bar has a value when it is shown. */
const FIRST_POLL_MS = 200;
const POLL_MS = 200;

/** Reports what the server says about a query, from 200 ms after its start until `signal` is aborted. It never throws. */
export async function watchProgress(
  api: Api,
  id: string,
  signal: AbortSignal,
  report: (query: RunningSql | undefined) => void,
): Promise<void> {
  for (let waitMs = FIRST_POLL_MS; !signal.aborted; waitMs = POLL_MS) {
    await pause(waitMs, signal);
    if (signal.aborted) return;
    // The answer of the statement itself tells whether the server is there.
    const query = await readQuery(api, id, signal).catch(() => undefined);
    if (!signal.aborted) report(query);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
