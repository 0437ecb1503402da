// The first list of 10,000 files put by hand, half of them CSV and half Parquet, and the read of one of them meanwhile,
// against the same read alone. Each round starts servers that have not seen the files.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../tools/server-process.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { median } from './measure.js';
import { putFrame } from './put-frame.js';

const FILES = 10_000;
const ROWS = 100;
const TURNS = { rounds: 5, warmUp: 1 };

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const csv = ['id,price', ...Array.from({ length: ROWS }, (_, i) => `${i},${i / 4}`)].join('\n');

async function asParquet() {
  const server = await startServer();
  try {
    await putFrame(`${server.url}/frames/one`, 'csv', csv);
    return Buffer.from(await (await fetch(`${server.url}/files/one.parquet`)).arrayBuffer());
  } finally {
    await server.stop();
  }
}

async function writeFiles() {
  const parquet = await asParquet();
  mkdirSync(join(directory, 'cold'));
  for (let i = 0; i < FILES; i += 1) {
    const [extension, bytes] = i % 2 === 0 ? ['csv', csv] : ['parquet', parquet];
    writeFileSync(join(directory, 'cold', `f${i}.${extension}`), bytes);
  }
}

async function get(url) {
  const startMs = performance.now();
  const response = await fetch(url);
  const value = await response.json();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${value.error}`);
  return { ms: performance.now() - startMs, value };
}

/** Runs on a new server. */
async function onNewServer(run) {
  const server = await startServer(['--data-dir', directory]);
  try {
    return await run(server.url);
  } finally {
    await server.stop();
  }
}

async function read(url, round) {
  const { ms, value } = await get(`${url}/exec?handle=f${2 * round}&fmt=json&limit=10`);
  if (value.dataset.length !== 10) throw new Error(`The read has ${value.dataset.length} rows.`);
  return ms;
}

const sides = {
  alone: (round) => onNewServer(async (url) => ({ readMs: await read(url, round) })),
  beside: (round) =>
    onNewServer(async (url) => {
      const [list, readMs] = await Promise.all([get(`${url}/frames`), read(url, round)]);
      if (list.value.frames.length !== FILES) throw new Error(`The list has ${list.value.frames.length} frames.`);
      return { listMs: list.ms, readMs };
    }),
};

try {
  await writeFiles();
  const { alone, beside } = await interleave(sides, TURNS);
  const summary = {
    'first list': { ms: Math.round(median(beside.map(({ listMs }) => listMs))) },
    'read, alone': { ms: Math.round(median(alone.map(({ readMs }) => readMs))) },
    'read, beside the list': {
      ms: Math.round(median(beside.map(({ readMs }) => readMs))),
      ratio: Number(ratio(beside, alone, ({ readMs }) => readMs).toFixed(2)),
    },
  };
  console.table(summary);
  writeResults('foreign-files', { files: FILES, rows: ROWS, summary, values: { alone, beside } });
} finally {
  rmSync(directory, { recursive: true });
}
