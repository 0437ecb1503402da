import type { Page } from 'playwright-core';

/** What the main thread of a page did. */
export interface MainThread {
  /** Its time on the processor, in milliseconds. */
  readonly cpuMs: number;
  /** The processor time of its longest task: other programs on the machine do not count. */
  readonly longestTaskMs: number;
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** The time on the processor, in microseconds. */
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

/** Measures what the main thread of a page does during an action. */
export async function mainThreadDuring(page: Page, action: () => Promise<void>): Promise<MainThread> {
  const browser = page.context().browser();
  if (browser === null) throw new Error('The page has no browser.');
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  let trace: Buffer;
  try {
    await action();
  } finally {
    trace = await browser.stopTracing();
  }
  const { traceEvents }: { traceEvents: TraceEvent[] } = JSON.parse(trace.toString('utf8'));
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = traceEvents
    .filter(({ name, ph, pid, tid }) => name.endsWith('RunTask') && ph === 'X' && mains.has(`${pid} ${tid}`))
    .map(({ tdur = 0 }) => tdur / 1000);
  if (tasks.length === 0) throw new Error('The trace has no task of the page.');
  return { cpuMs: tasks.reduce((sum, ms) => sum + ms, 0), longestTaskMs: Math.max(...tasks) };
}

/** Returns the least of what several attempts measured: noise only adds to it. */
export async function leastOf<T>(attempts: number, measure: () => Promise<T>, of: (one: T) => number): Promise<T> {
  let best = await measure();
  for (let attempt = 1; attempt < attempts; attempt += 1) {
    const other = await measure();
    if (of(other) < of(best)) best = other;
  }
  return best;
}
