// The CPU time of a page's main thread, by thread ticks: other programs on the machine do not count.

/** Returns the CPU time of the main thread so far and the size of its heap after a collection. */
export async function openMetrics(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const read = async (name) => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find((metric) => metric.name === name).value;
  };
  return {
    cpuMs: async () => (await read('TaskDuration')) * 1000,
    heapBytes: async () => {
      await session.send('HeapProfiler.collectGarbage');
      return read('JSHeapUsedSize');
    },
  };
}

/** Returns the CPU time of the main thread's tasks during an action: of all, and of the longest. */
export async function tasksDuring(page, action) {
  const browser = page.context().browser();
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  let trace;
  try {
    await action();
  } finally {
    trace = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(trace.toString('utf8'));
  const threadOf = ({ pid, tid }) => `${pid} ${tid}`;
  const mains = new Set(
    traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain').map(threadOf),
  );
  const tasks = traceEvents
    .filter((event) => event.name.endsWith('RunTask') && event.ph === 'X' && mains.has(threadOf(event)))
    .map(({ tdur = 0 }) => tdur / 1000);
  if (tasks.length === 0) throw new Error('The trace has no task of the page.');
  return { cpuMs: tasks.reduce((sum, ms) => sum + ms, 0), longestTaskMs: Math.max(...tasks) };
}
