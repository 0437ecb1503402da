// From the start of the process to the first rows: the built server on a directory with frames, and ROAPI on the file.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../tools/free-ports.js';
import { startServer } from '../tools/server-process.js';
import { provideDataSet } from './data-set.js';
import { median } from './measure.js';
import { roapi } from './peers/roapi.js';
import { FIRST_ROWS, POLL_MS, untilReady } from './peers/until-ready.js';
import { putFrame } from './put-frame.js';
import { interleave, writeResults } from './interleave.js';

const ROWS = 1_000_000;
const ROUNDS = 41;
const BINARY = fileURLToPath(new URL('../apps/server/bin/server.js', import.meta.url));

const set = await provideDataSet('trades', ROWS);
const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const writer = await startServer(['--data-dir', directory]);
await putFrame(`${writer.url}/frames/trades`, 'parquet', readFileSync(set.files.parquet));
await writer.stop();

async function startSvc() {
  const [port] = await freePorts(1);
  const startMs = performance.now();
  const local = ['--http-bind-address', `127.0.0.1:${port}`, '--grpc-host', '127.0.0.1', '--grpc-port', '0'];
  const child = spawn(process.execPath, [BINARY, ...local, '--data-dir', directory], {
    stdio: 'ignore',
    // As for the peer: with NODE_EXTRA_CA_CERTS, for example, Node reads all certificates before it runs any code.
    env: { PATH: process.env.PATH },
  });
  await untilReady(`http://127.0.0.1:${port}/exec?handle=trades&fmt=json&limit=${FIRST_ROWS}`, child, POLL_MS);
  const ms = performance.now() - startMs;
  const exited = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  child.kill('SIGTERM');
  await exited;
  return ms;
}

async function startRoapi() {
  const { startMs, stop } = await roapi.start(set);
  // It frees a lot of memory, which would slow the next start.
  await stop();
  return startMs;
}

try {
  const values = await interleave({ svc: startSvc, [roapi.name]: startRoapi }, { rounds: ROUNDS });
  const summary = Object.entries(values).map(([peer, times]) => ({
    peer,
    'ms to the first rows': Math.round(median(times)),
  }));
  console.table(summary);
  writeResults('cold-start', { rows: ROWS, summary, values });
} finally {
  rmSync(directory, { recursive: true });
}
