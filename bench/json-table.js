// All rows of a frame as JSON over HTTP, against row arrays and JSON.stringify of the same Arrow batches: CPU time, and
// how much the server grows while it sends. Fresh processes in each round, their order alternating, medians.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cpuMs, median, residentBytes } from './measure.js';
import { startServer } from './server-process.js';
import { tradesAsArrow } from './trades-frame.js';

const ROWS = 1_000_000;
const ROUNDS = 5;
const REPEATS = 5;
const TARGETS = { cpuRatio: 0.15, growthMiB: 64 };

const run = promisify(execFile);

async function measureServer(frame) {
  const server = await startServer();
  try {
    const headers = { 'content-type': 'application/vnd.apache.arrow.stream' };
    const put = await fetch(`${server.url}/frames/trades`, { method: 'PUT', body: frame, headers });
    if (put.status !== 201) throw new Error(`PUT answered ${put.status}: ${await put.text()}`);
    const before = residentBytes(server.pid);
    const runs = [];
    for (let i = 0; i < REPEATS; i++) {
      const cpuBefore = cpuMs(server.pid);
      const { bytes, peak } = await download(`${server.url}/exec?handle=trades&fmt=json&limit=${ROWS}`, server.pid);
      runs.push({ cpuMs: cpuMs(server.pid) - cpuBefore, bytes, growthMiB: (peak - before) / 2 ** 20 });
    }
    return runs;
  } finally {
    await server.stop();
  }
}

function download(url, pid) {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    let peak = 0;
    request(url, (response) => {
      response.on('data', (chunk) => {
        bytes += chunk.length;
        peak = Math.max(peak, residentBytes(pid));
      });
      response.on('end', () => resolve({ bytes, peak }));
      response.on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}

async function measureBaseline(file) {
  const script = fileURLToPath(new URL('json-rows-baseline.js', import.meta.url));
  const { stdout } = await run(process.execPath, ['--max-old-space-size=4096', script, file, String(REPEATS)]);
  return JSON.parse(stdout);
}

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const file = join(directory, 'trades.arrow');
const frame = tradesAsArrow(ROWS);
writeFileSync(file, frame);
const rounds = [];
try {
  for (let round = 0; round < ROUNDS; round++) {
    const result = {};
    const steps = [
      async () => (result.server = await measureServer(frame)),
      async () => (result.baseline = await measureBaseline(file)),
    ];
    for (const step of round % 2 === 0 ? steps : steps.toReversed()) await step();
    rounds.push(result);
    console.log(`round ${round + 1}: ${JSON.stringify(result)}`);
  }
} finally {
  rmSync(directory, { recursive: true });
}

const all = (part) => rounds.flatMap((round) => round[part]);
const serverCpuMs = median(all('server').map((entry) => entry.cpuMs));
const baselineCpuMs = median(all('baseline').map((entry) => entry.cpuMs));
const summary = {
  serverCpuMs,
  baselineCpuMs,
  cpuRatio: serverCpuMs / baselineCpuMs,
  firstRunCpuRatio:
    median(rounds.map((round) => round.server[0].cpuMs)) / median(rounds.map((round) => round.baseline[0].cpuMs)),
  growthMiB: Math.max(...all('server').map((entry) => entry.growthMiB)),
};
console.log(summary);
console.log(`CPU ratio: target at most ${TARGETS.cpuRatio}, growth: target below ${TARGETS.growthMiB} MiB`);
const machine = { node: process.version, cpu: cpus()[0]?.model, cores: availableParallelism() };
const results = { rows: ROWS, machine, targets: TARGETS, summary, rounds };
writeFileSync(new URL('results/json-table.json', import.meta.url), `${JSON.stringify(results, null, 2)}\n`);
