// The cost of metrics: a small read of a frame, by handle, over 16 connections, with metrics and without, in CPU time of the
// server, which has one core, and the client the other. A second server without metrics shows how far equal servers differ.
// Also the time that counting a request takes by itself, and the time of a scrape.
import { readdirSync, readFileSync } from 'node:fs';
import { createMetrics } from '../apps/server/dist/metrics/metrics.js';
import { pin } from '../tools/process-resources.js';
import { startServer } from '../tools/server-process.js';
import { interleave, writeResults } from './interleave.js';
import { load } from './load.js';
import { median } from './measure.js';

/** Processes of each side: the same program may be compiled to faster or slower code. */
const GENERATIONS = 16;
const ROUNDS = 10;
const WARM_UP = 5;
const SCRAPES = 20;
const LOAD = { connections: 16, seconds: 0.25 };
const [SERVER_CORE, CLIENT_CORE] = ['0', '1'];

const OFF = { SERVICE_METRICS_ENABLED: 'false' };
const SIDES = { off: OFF, metrics: {}, 'off, too': OFF };

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
  pin(server.pid, SERVER_CORE);
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

/** The time that the metrics of one request take, in microseconds: the least of some rounds. */
function countingMicros() {
  const metrics = createMetrics(
    { enabled: true, tenant_label: false, max_tenants: 0 },
    { version: '', hasCallers: false },
  );
  const started = { kind: 'request_started', requestId: 'r', protocol: 'http' };
  const answers = Array.from({ length: 64 }, (_, i) => ({
    ...started,
    kind: 'request_answered',
    tenant: 'default',
    route: '/exec',
    method: 'GET',
    status: 200,
    durationMs: 0.1 + i / 10,
    firstByteMs: 0.1 + i / 20,
    requestBytes: 0,
    responseBytes: 100 + i,
    rows: 1,
    format: 'json',
  }));
  const requests = 1_000_000;
  const rounds = Array.from({ length: 7 }, () => {
    const before = performance.now();
    for (let i = 0; i < requests; i++) {
      metrics.observe(started);
      metrics.observe(answers[i % answers.length]);
    }
    return ((performance.now() - before) * 1000) / requests;
  });
  metrics.close();
  return Math.min(...rounds);
}

/** Returns the items from the one at a place on, then those before it. */
const rotated = (items, place) => items.map((_, i) => items[(i + place) % items.length]);

pin(process.pid, CLIENT_CORE);
const generations = [];
const scrapes = [];
for (let i = 0; i < GENERATIONS; i++) {
  const started = {};
  try {
    const names = rotated(Object.keys(SIDES), i);
    for (const name of names) started[name] = await startSide(SIDES[name]);
    const sides = Object.fromEntries(names.map((name) => [name, started[name].run]));
    generations.push(await interleave(sides, { rounds: ROUNDS, warmUp: WARM_UP }));
    scrapes.push(...(await started.metrics.scrape()));
  } finally {
    for (const { stop } of Object.values(started)) await stop();
  }
}
const rounded = (value, digits = 3) => Number(value.toFixed(digits));
/** The medians of a side in each generation. */
const medians = (name, key) => generations.map((sides) => median(sides[name].map((value) => value[key])));
const cpu = Object.fromEntries(Object.keys(SIDES).map((name) => [name, medians(name, 'cpuMicros')]));
const counting = countingMicros();
const summary = Object.fromEntries(Object.keys(SIDES).map((name) => [name, summaryOf(name)]));
summary['counting by itself'] = { 'CPU µs': rounded(counting), ratio: rounded(1 + counting / median(cpu.off)) };

function summaryOf(name) {
  // Each side relative to the others without metrics.
  const others = Object.keys(SIDES).filter((other) => other !== name && SIDES[other] === OFF);
  const ratios = cpu[name]
    .map((value, i) => value / (others.reduce((sum, other) => sum + cpu[other][i], 0) / others.length))
    .toSorted((a, b) => a - b);
  const rounds = generations.flatMap((sides) => sides[name].map(({ cpuMicros }) => cpuMicros));
  return {
    'CPU µs': rounded(median(cpu[name]), 1),
    'least of all rounds': rounded(Math.min(...rounds), 1),
    'answers/s': Math.round(median(medians(name, 'perSecond'))),
    ratio: rounded(median(ratios)),
    quartiles: [0.25, 0.75].map((share) => rounded(ratios[Math.round(share * (ratios.length - 1))])).join(' to '),
  };
}

const scrapeMs = rounded(median(scrapes), 2);
console.table(summary);
console.log(`A scrape takes ${scrapeMs} ms.`);
writeResults('metrics', { generations: GENERATIONS, rounds: ROUNDS, summary, scrapeMs, values: generations });
