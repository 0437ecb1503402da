// A stored Parquet file over HTTP: whole downloads and ranges of 1 MiB, against servers that only send the same file.
import { fork, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { cpuMs } from '../tools/process-resources.js';
import { startServer } from '../tools/server-process.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { median } from './measure.js';
import { putFrame } from './put-frame.js';

const ROWS = 16_000_000;
const RANGE_BYTES = 1024 * 1024;
const RANGES = 100;
const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const ended = [async () => rmSync(directory, { recursive: true })];

async function startSvc() {
  const server = await startServer(['--parquet-path', directory]);
  ended.unshift(server.stop);
  const x = Float64Array.from({ length: ROWS }, (_, i) => Math.sin(i));
  await putFrame(`${server.url}/frames/noise`, 'arrow', tableToIPC(tableFromArrays({ x }), 'stream'));
  return { pid: server.pid, url: `${server.url}/files/noise.parquet` };
}

/** The same file, sent by a Node program. */
function startNode(path) {
  const child = fork(fileURLToPath(new URL('static-server.js', import.meta.url)), [path]);
  ended.unshift(async () => child.kill());
  return new Promise((resolve) => {
    child.once('message', (port) => resolve({ pid: child.pid, url: `http://127.0.0.1:${Number(port)}/` }));
  });
}

/** The same file, sent by Python's http.server. It has no ranges. */
function startPython(folder, name) {
  const args = ['-u', '-m', 'http.server', '0', '--bind', '127.0.0.1', '--directory', folder];
  const child = spawn('python3', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  ended.unshift(async () => child.kill());
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    createInterface({ input: child.stdout }).once('line', (line) => {
      const port = /port (\d+)/.exec(line)?.[1];
      resolve({ pid: child.pid, url: `http://127.0.0.1:${port}/${encodeURIComponent(name)}` });
    });
  });
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
ended.unshift(async () => agent.destroy());

/** Reads a response and returns its length. */
function read(url, headers = {}) {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers }, (response) => {
      let bytes = 0;
      response.on('data', (chunk) => (bytes += chunk.length));
      response.on('end', () => resolve({ status: response.statusCode, bytes }));
      response.on('error', reject);
    }).on('error', reject);
  });
}

async function measured({ pid }, work) {
  const cpuBefore = cpuMs(pid);
  const startMs = performance.now();
  await work();
  return { ms: performance.now() - startMs, cpuMs: cpuMs(pid) - cpuBefore };
}

async function whole(side, size) {
  const { status, bytes } = await read(side.url);
  if (status !== 200 || bytes !== size) throw new Error(`${side.url} sent ${bytes} bytes with ${status}.`);
}

async function ranges(side, size) {
  for (let i = 0; i < RANGES; i++) {
    const start = Math.floor((i * 7919 * RANGE_BYTES) % (size - RANGE_BYTES));
    const { status, bytes } = await read(side.url, { range: `bytes=${start}-${start + RANGE_BYTES - 1}` });
    if (status !== 206 || bytes !== RANGE_BYTES) throw new Error(`${side.url} sent ${bytes} bytes with ${status}.`);
  }
}

/** Compares the sides; returns the medians of each, and the ratios of the first to the others. */
async function compare(sides, work, rounds) {
  const runs = Object.entries(sides).map(([name, side]) => [name, () => measured(side, () => work(side))]);
  const values = await interleave(Object.fromEntries(runs), { rounds });
  const summary = Object.entries(values).map(([name, own]) => ({
    side: name,
    ms: Math.round(median(own.map(({ ms }) => ms))),
    'CPU, ms': Math.round(median(own.map((value) => value.cpuMs))),
    'time of svc': Number(ratio(values.svc, own, ({ ms }) => ms).toFixed(2)),
  }));
  console.table(summary);
  return { summary, values };
}

try {
  const svc = await startSvc();
  const folder = join(directory, 'default');
  const name = readdirSync(folder).find((entry) => entry.endsWith('.parquet'));
  const node = await startNode(join(folder, name));
  const python = await startPython(folder, name);
  const { bytes: size } = await read(node.url);
  const results = {
    size,
    whole: await compare({ svc, node, python }, (side) => whole(side, size), 9),
    ranges: await compare({ svc, node }, (side) => ranges(side, size), 9),
  };
  writeResults('files', results);
} finally {
  for (const end of ended) await end();
}
