// The latency of other clients while every engine is busy: /ping and reads of a hot frame, with bombs running on all
// engines and 64 queries in the queue.
import { startServer } from '../tools/server-process.js';
import { createClient } from './download.js';
import { percentile } from './measure.js';
import { putFrame } from './put-frame.js';
import { writeResults } from './interleave.js';
import { tradesAsArrow } from './trades-frame.js';

const REQUESTS = 500;
const CONCURRENT = 4;
const QUEUED = 64;
const AIM_MS = 100;

/** Statements without an end of time, threads or memory. */
const BOMBS = [
  'select count(*) from range(10000000) a, range(10000000) b where a.range + b.range = -1',
  'select max(len(range(200000000)))',
  "select levenshtein(repeat('a', 200000), repeat('b', 200000))",
  'select count(distinct a.range * b.range) from range(100000) a, range(100000) b',
];

/** Keeps all engines busy and the queue full until it is stopped. */
function bombard(url) {
  const leave = new AbortController();
  const statuses = {};
  const runner = async (i) => {
    for (let n = i; !leave.signal.aborted; n += 1) {
      const query = new URLSearchParams({ query: BOMBS[n % BOMBS.length], engine: 'local', fmt: 'json' }).toString();
      const response = await fetch(`${url}/exec?${query}`, { signal: leave.signal }).catch(() => undefined);
      await response?.text().catch(() => undefined);
      if (response) statuses[response.status] = (statuses[response.status] ?? 0) + 1;
    }
  };
  const runners = Array.from({ length: CONCURRENT + QUEUED }, (_, i) => runner(i));
  return {
    statuses,
    async stop() {
      leave.abort();
      await Promise.all(runners);
    },
  };
}

async function timesOf(url) {
  const client = createClient();
  const times = [];
  for (let i = 0; i < REQUESTS; i++) {
    const startMs = performance.now();
    await client.read(url);
    times.push(performance.now() - startMs);
  }
  client.close();
  return times;
}

const server = await startServer();
try {
  await putFrame(`${server.url}/frames/trades`, 'arrow', tradesAsArrow(100_000));
  const targets = { ping: `${server.url}/ping`, read: `${server.url}/exec?handle=trades&fmt=json&limit=100` };
  const values = { quiet: {}, busy: {} };
  for (const [name, url] of Object.entries(targets)) values.quiet[name] = await timesOf(url);
  const bombs = bombard(server.url);
  await new Promise((resolve) => {
    setTimeout(resolve, 2000);
  });
  for (const [name, url] of Object.entries(targets)) values.busy[name] = await timesOf(url);
  await bombs.stop();
  const summary = Object.fromEntries(
    Object.entries(values).flatMap(([state, byName]) =>
      Object.entries(byName).map(([name, times]) => [
        `${name}, ${state}`,
        { p50: percentile(times, 50), p99: percentile(times, 99), aim: state === 'busy' ? AIM_MS : undefined },
      ]),
    ),
  );
  console.table(summary);
  console.log('responses to the bombs:', bombs.statuses);
  writeResults('isolation', { requests: REQUESTS, concurrent: CONCURRENT, queued: QUEUED, summary, values });
} finally {
  await server.stop();
}
