// A window of a long frame on disk (100 000 000 rows, or the number in the first argument) and one of a frame of
// 1 000 000 rows, in CPU time of the server and its engine child. Takes minutes; run it alone.
import { mkdtempSync, openAsBlob, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { familyCpuMs } from '../tools/process-resources.js';
import { startServer } from '../tools/server-process.js';
import { DECODE_ALWAYS } from './disk-cache.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { median } from './measure.js';
import { putFrame } from './put-frame.js';

const ROWS = Number(process.argv[2] ?? 100_000_000);
const SHORT_ROWS = 1_000_000;
const WINDOW_ROWS = 1000;
/** CPU times are counted in ticks of 10 ms: one value is the mean of this many windows. */
const WINDOWS = 10;
const ROUNDS = 9;
const GOAL_MS = 60;

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
// No rows and no responses are cached.
const server = await startServer(['--parquet-path', join(directory, 'frames'), '--cache-size', '0.001'], {
  env: DECODE_ALWAYS,
});

async function put(handle, rows) {
  const path = join(directory, `${handle}.parquet`);
  const connection = await (await DuckDBInstance.create()).connect();
  await connection.run(`COPY (
    SELECT range AS id, make_timestamp(1700000000000000 + range * 1000) AS at, (range % 100003) * 0.01::DOUBLE AS price,
      'S' || (range % 50) AS symbol
    FROM range(${rows})) TO '${path}' (COMPRESSION zstd)`);
  connection.closeSync();
  await putFrame(`${server.url}/frames/${handle}`, 'parquet', await openAsBlob(path));
  rmSync(path);
}

async function windowMs(handle, rows) {
  const beforeMs = familyCpuMs(server.pid);
  for (let i = 0; i < WINDOWS; i++) {
    const offset = Math.floor(Math.random() * (rows - WINDOW_ROWS));
    const url = `${server.url}/exec?handle=${handle}&fmt=json&limit=${offset + 1},${offset + WINDOW_ROWS}`;
    const { count } = await (await fetch(url)).json();
    if (count !== WINDOW_ROWS) throw new Error(`A window has ${count} rows.`);
  }
  return (familyCpuMs(server.pid) - beforeMs) / WINDOWS;
}

try {
  await put('short', SHORT_ROWS);
  await put('long', ROWS);
  const values = await interleave(
    { long: () => windowMs('long', ROWS), short: () => windowMs('short', SHORT_ROWS) },
    { rounds: ROUNDS },
  );
  const summary = {
    rows: ROWS,
    goalMs: GOAL_MS,
    cpuMsOfAWindow: median(values.long),
    cpuMsOfAWindowOfAShortFrame: median(values.short),
    ratio: Number(ratio(values.long, values.short).toFixed(2)),
  };
  writeResults('long-frame', { summary, values });
  process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`);
} finally {
  await server.stop();
  rmSync(directory, { recursive: true });
}
