// Frames on disk through the server, against DuckDB on the same files: a few rows cold and hot, and all rows as Arrow.
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../tools/server-process.js';
import { DECODE_ALWAYS } from './disk-cache.js';
import { createClient, download } from './download.js';
import { median, timed } from './measure.js';
import { startDuckdb } from './peers/duckdb-process.js';
import { startDuckdbPython } from './peers/duckdb-python.js';
import { putFrame } from './put-frame.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { tradesAsArrow } from './trades-frame.js';

const ROWS = 1_000_000;

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const client = createClient();
const ended = [async () => client.close(), async () => rmSync(directory, { recursive: true })];

/** Starts a server on a directory; without `cacheGb` every read is from disk, and no response is cached. */
async function serverOn(folder, cacheGb) {
  const env = cacheGb < 1 ? DECODE_ALWAYS : {};
  const server = await startServer(['--parquet-path', folder, '--cache-size', String(cacheGb)], { env });
  ended.unshift(server.stop);
  return server;
}

async function measureReads(file, folder, duckdb, python) {
  const cold = await serverOn(folder, 0.001);
  const first = await interleave(
    {
      server: () => timed(() => client.read(`${cold.url}/exec?handle=trades&fmt=json&limit=1000`)),
      duckdb: async () => (await duckdb.run('query', `SELECT * FROM read_parquet('${file}') LIMIT 1000`)).ms,
    },
    { rounds: 41, warmUp: 10 },
  );
  const all = await interleave(
    {
      server: () => timed(() => download(`${cold.url}/exp?handle=trades&fmt=arrow`)),
      python: async () => (await python.run(`SELECT * FROM read_parquet('${file}')`)).ms,
    },
    { rounds: 15 },
  );
  await cold.stop();
  return { first, all };
}

async function measureHot(folder, file, duckdb) {
  const hot = await serverOn(folder, 1);
  await download(`${hot.url}/exp?handle=trades&fmt=arrow`);
  const values = await interleave(
    {
      server: () => timed(() => client.read(`${hot.url}/exec?handle=trades&fmt=json&limit=1000`)),
      duckdb: async () => (await duckdb.run('query', `SELECT * FROM read_parquet('${file}') LIMIT 1000`)).ms,
    },
    { rounds: 41, warmUp: 10 },
  );
  await hot.stop();
  return values;
}

try {
  const folder = join(directory, 'frames');
  const writer = await serverOn(folder, 1);
  await putFrame(`${writer.url}/frames/trades`, 'arrow', tradesAsArrow(ROWS));
  await writer.stop();
  const tenant = join(folder, 'default');
  const name = (await readdir(tenant)).find((entry) => entry.endsWith('.parquet'));
  const file = join(tenant, name);
  const duckdb = await startDuckdb();
  const python = await startDuckdbPython();
  ended.unshift(
    async () => duckdb.stop(),
    async () => python.stop(),
  );

  const { first, all } = await measureReads(file, folder, duckdb, python);
  const hot = await measureHot(folder, file, duckdb);
  const summary = {
    'first 1000 rows, cold': {
      ratio: median(first.server.map((ms, i) => Math.max(0, ms - 2) / first.duckdb[i])),
      aim: 1.5,
      against: `in-process DuckDB, after taking 2 ms off (${median(first.server).toFixed(1)} and ${median(first.duckdb).toFixed(1)} ms)`,
    },
    'first 1000 rows, hot': {
      ratio: ratio(hot.server, hot.duckdb),
      aim: 0.2,
      against: 'in-process DuckDB on the file',
    },
    'all rows as Arrow, cold': {
      ratio: ratio(all.server, all.python),
      aim: 2,
      against: `${python.name} and an IPC writer`,
    },
  };
  console.table(summary);
  writeResults('store', { rows: ROWS, summary, values: { first, hot, all } });
} finally {
  for (const end of ended) await end();
}
