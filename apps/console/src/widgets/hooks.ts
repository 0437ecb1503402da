import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import type { Command } from '../state/commands.ts';

/** The time in milliseconds since the page was opened. */
export const pageMs = (): number => performance.now();

/** Returns the time of a clock, and shows the component again at an interval; undefined: not again. */
export function useNow(everyMs: number | undefined, clock: () => number = Date.now): number {
  const [nowMs, setNowMs] = useState(clock);
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    setNowMs(clock());
    const timer = setInterval(() => setNowMs(clock()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, clock]);
  return nowMs;
}

/** Adds commands while the component is on the page, from before its first paint. They are new if a dependency changes. */
export function useCommands(app: AppState, commands: readonly Command[], dependencies: readonly unknown[]): void {
  useLayoutEffect(() => app.commands.add(commands), dependencies);
}
