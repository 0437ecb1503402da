// The cost of metrics: a small read of a frame, by handle, over 16 connections, with metrics and without, in CPU time of the
// server. Also the time of a scrape.
import { readdirSync, readFileSync } from 'node:fs';
import { startServer } from '../tools/server-process.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { load } from './load.js';
import { median } from './measure.js';

/** Processes of each side: the same program may be compiled to faster or slower code. */
const GENERATIONS = 6;
const ROUNDS = 10;
const WARM_UP = 4;
const SCRAPES = 20;
const LOAD = { connections: 16, seconds: 0.4 };

const SIDES = {
  off: { SERVICE_METRICS_ENABLED: 'false' },
  metrics: {},
};

/** The CPU time of all threads of a process, in microseconds. */
function cpuOf(pid) {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = threads.map((id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1000;
}

/** The times of scrapes, in milliseconds. */
async function scrape(url) {
  const times = [];
  for (let i = 0; i < SCRAPES; i++) {
    const start = performance.now();
    await (await fetch(`${url}/metrics`)).text();
    times.push(performance.now() - start);
  }
  return times;
}

/** Starts a server; returns how to measure it: the CPU time per answer. */
async function startSide(env) {
  const server = await startServer([], { env });
  const rows = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '[{"id":1}]' };
  const { status } = await fetch(`${server.url}/frames/small`, rows);
  if (status !== 201) throw new Error(`The put was answered with ${status}.`);
  const run = async () => {
    const before = cpuOf(server.pid);
    const { answers, perSecond } = await load(server.url, () => ({ path: '/exec?handle=small&fmt=json' }), LOAD);
    return { cpuMicros: (cpuOf(server.pid) - before) / answers, perSecond };
  };
  return { run, scrape: () => scrape(server.url), stop: server.stop };
}

const values = Object.fromEntries(Object.keys(SIDES).map((name) => [name, []]));
const scrapes = [];
for (let i = 0; i < GENERATIONS; i++) {
  const started = {};
  try {
    for (const [name, env] of Object.entries(SIDES)) started[name] = await startSide(env);
    const sides = Object.fromEntries(Object.entries(started).map(([name, { run }]) => [name, run]));
    const measured = await interleave(sides, { rounds: ROUNDS, warmUp: WARM_UP });
    for (const [name, own] of Object.entries(measured)) values[name].push(...own);
    scrapes.push(...(await started.metrics.scrape()));
  } finally {
    for (const { stop } of Object.values(started)) await stop();
  }
}
const summary = Object.fromEntries(
  Object.entries(values).map(([name, own]) => [
    name,
    {
      'CPU µs': Number(median(own.map(({ cpuMicros }) => cpuMicros)).toFixed(1)),
      'answers/s': Math.round(median(own.map(({ perSecond }) => perSecond))),
      ratio: Number(ratio(own, values.off, ({ cpuMicros }) => cpuMicros).toFixed(3)),
    },
  ]),
);
const scrapeMs = Number(median(scrapes).toFixed(2));
console.table(summary);
console.log(`A scrape takes ${scrapeMs} ms.`);
writeResults('metrics', { generations: GENERATIONS, rounds: ROUNDS, summary, scrapeMs, values });
