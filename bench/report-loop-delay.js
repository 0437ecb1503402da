// Preloaded into the server: on SIGUSR2, reports how long its event loop was blocked since the last signal.
import { monitorEventLoopDelay } from 'node:perf_hooks';

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
process.on('SIGUSR2', () => {
  const ms = (nanos) => Math.round(nanos / 1e4) / 100;
  process.stdout.write(
    `${JSON.stringify({ p50Ms: ms(delay.percentile(50)), p99Ms: ms(delay.percentile(99)), maxMs: ms(delay.max) })}\n`,
  );
  delay.reset();
});
