// Preloaded into the server: on SIGUSR2, writes to the log how long the longest piece of work has kept the event loop since
// the last signal. It counts the CPU time of the main thread, because on a busy machine a thread also waits for a core. Linux
// may count that time in steps of some milliseconds: a piece of work takes no longer than the clock says. A core is slower
// while another program uses its twin, for minutes on some hosts, so the report also has the time of a fixed piece of work.
import { openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

// Worker threads and child processes inherit NODE_OPTIONS.
if (isMainThread && process.argv[1]?.endsWith('bin/server.js')) {
  const schedule = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const bytes = Buffer.alloc(64);
  const cpuMs = () => {
    const length = readSync(schedule, bytes, 0, bytes.length, 0);
    return Number(bytes.toString('latin1', 0, length).split(' ', 1)[0]) / 1e6;
  };

  let longestMs = 0;
  let last = { cpu: cpuMs(), clock: performance.now() };
  // A timer is late by as long as a piece of work keeps the loop.
  const measure = () => {
    const now = { cpu: cpuMs(), clock: performance.now() };
    longestMs = Math.max(longestMs, Math.min(now.cpu - last.cpu, now.clock - last.clock));
    last = now;
  };
  setInterval(measure, 1).unref();
  const buffer = new Uint8Array(65_536).map((_, i) => i * 7);
  /** Reads 13 million bytes. */
  const referenceMs = () => {
    const from = { cpu: cpuMs(), clock: performance.now() };
    let hash = 0;
    for (let round = 0; round < 200; round++) {
      for (let i = 0; i < buffer.length; i++) hash = Math.imul(hash, 31) + buffer[i];
    }
    return Math.min(cpuMs() - from.cpu, performance.now() - from.clock);
  };
  process.on('SIGUSR2', () => {
    // The signal may come before the timer.
    measure();
    const report = { level: 'test', message: 'longest block', ms: longestMs, referenceMs: referenceMs() };
    process.stderr.write(`${JSON.stringify(report)}\n`);
    longestMs = 0;
    last = { cpu: cpuMs(), clock: performance.now() };
  });
}
