// All rows of a frame as JSON over HTTP, against row arrays and JSON.stringify of the same Arrow batches: CPU time, and
// the memory growth of the server while it sends. Fresh processes in each round. The two sides alternate, and the ratio is
// that of consecutive runs, because the speed of a shared machine changes by the second.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuMs, residentBytes } from '../tools/process-resources.js';
import { startServer } from '../tools/server-process.js';
import { download } from './download.js';
import { median } from './measure.js';
import { putFrame } from './put-frame.js';
import { writeResults } from './interleave.js';
import { tradesAsArrow } from './trades-frame.js';

const ROWS = 1_000_000;
const ROUNDS = 4;
const PAIRS = 8;
/** The first runs of a process are slower on both sides, until the code is compiled; they are reported separately. */
const WARM_UP = 2;
const TARGETS = { cpuRatio: 0.15, growthMiB: 64 };

async function startServerSide(frame) {
  const server = await startServer();
  await putFrame(`${server.url}/frames/trades`, 'arrow', frame);
  const before = residentBytes(server.pid);
  return {
    async run() {
      const cpuBefore = cpuMs(server.pid);
      let peak = 0;
      const url = `${server.url}/exec?handle=trades&fmt=json&limit=${ROWS}`;
      const watch = () => (peak = Math.max(peak, residentBytes(server.pid)));
      const { bytes } = await download(url, { watch });
      return { cpuMs: cpuMs(server.pid) - cpuBefore, bytes, growthMiB: (peak - before) / 2 ** 20 };
    },
    stop: server.stop,
  };
}

async function startBaseline(file) {
  const script = fileURLToPath(new URL('json-rows-baseline.js', import.meta.url));
  const child = fork(script, [file], { execArgv: ['--max-old-space-size=4096'] });
  await once(child, 'message');
  return {
    async run() {
      child.send('run');
      const [result] = await once(child, 'message');
      return result;
    },
    stop: () => child.kill(),
  };
}

async function measureRound(frame, file) {
  const sides = { server: await startServerSide(frame), baseline: await startBaseline(file) };
  const pairs = [];
  try {
    for (let i = 0; i < PAIRS; i++) {
      const pair = {};
      const order = i % 2 === 0 ? ['server', 'baseline'] : ['baseline', 'server'];
      for (const side of order) pair[side] = await sides[side].run();
      pairs.push(pair);
    }
    return pairs;
  } finally {
    await sides.server.stop();
    sides.baseline.stop();
  }
}

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const file = join(directory, 'trades.arrow');
const frame = tradesAsArrow(ROWS);
writeFileSync(file, frame);
const rounds = [];
try {
  for (let round = 0; round < ROUNDS; round++) {
    const pairs = await measureRound(frame, file);
    rounds.push(pairs);
    console.log(pairs.map(({ server, baseline }) => `${server.cpuMs.toFixed()}/${baseline.cpuMs.toFixed()}`).join(' '));
  }
} finally {
  rmSync(directory, { recursive: true });
}

const ratioOf = ({ server, baseline }) => server.cpuMs / baseline.cpuMs;
const warm = rounds.flatMap((pairs) => pairs.slice(WARM_UP));
const summary = {
  cpuRatio: median(warm.map(ratioOf)),
  serverCpuMs: median(warm.map(({ server }) => server.cpuMs)),
  baselineCpuMs: median(warm.map(({ baseline }) => baseline.cpuMs)),
  firstRunCpuRatio: median(rounds.map(([first]) => ratioOf(first))),
  growthMiB: Math.max(...rounds.flat().map(({ server }) => server.growthMiB)),
};
console.log(summary);
const verdict = (isMet) => (isMet ? 'met' : 'MISSED');
console.log(`CPU ratio at most ${TARGETS.cpuRatio}: ${verdict(summary.cpuRatio <= TARGETS.cpuRatio)}`);
console.log(`growth below ${TARGETS.growthMiB} MiB: ${verdict(summary.growthMiB < TARGETS.growthMiB)}`);
writeResults('json-table', { rows: ROWS, targets: TARGETS, summary, rounds });
