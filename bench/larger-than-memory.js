// All rows of a frame that is several times as large as the cache, against the same rows in memory: as Arrow and JSON over
// HTTP, and by DoGet of Flight.
import { execFileSync } from 'node:child_process';
import { createReadStream, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providePython } from '../tools/python-environment.js';
import { startServer } from '../tools/server-process.js';
import { provideDataSet } from './data-set.js';
import { download } from './download.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { median } from './measure.js';
import { putFrame } from './put-frame.js';

const ROWS = 30_000_000;
/** In GB. The rows take 1.1 GB in memory. */
const CACHES = { 'from disk': '0.512', 'from memory': '4' };
const TURNS = { rounds: 5, warmUp: 1 };

const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const python = join(providePython('interop-python', file('../interop/python/requirements.txt')), 'python');

async function startSide(cacheSize, { files }) {
  const server = await startServer(['--cache-size', cacheSize]);
  const headers = { 'content-length': String(statSync(files.parquet).size) };
  await putFrame(`${server.url}/frames/trades`, 'parquet', createReadStream(files.parquet), headers);
  return server;
}

/** The milliseconds of a read. */
const READS = {
  arrow: async ({ url }) => (await download(`${url}/exp?handle=trades&fmt=arrow`)).ms,
  flight: ({ grpc }) => 1000 * Number(execFileSync(python, [file('flight_read.py'), grpc, 'trades', String(ROWS)])),
  json: async ({ url }) => (await download(`${url}/exec?handle=trades&fmt=json&limit=1,`)).ms,
};

const set = await provideDataSet('trades', ROWS);
const servers = {};
const values = {};
try {
  for (const [name, size] of Object.entries(CACHES)) servers[name] = await startSide(size, set);
  for (const [format, read] of Object.entries(READS)) {
    const sides = Object.entries(servers).map(([name, server]) => [name, () => read(server)]);
    values[format] = await interleave(Object.fromEntries(sides), TURNS);
    console.log(format, values[format]);
  }
} finally {
  for (const server of Object.values(servers)) await server.stop();
}

const perRow = (ms) => Number(((median(ms) * 1000) / ROWS).toFixed(3));
const summary = Object.entries(values).map(([format, taken]) => ({
  format,
  'from disk, µs a row': perRow(taken['from disk']),
  'from memory, µs a row': perRow(taken['from memory']),
  ratio: Number(ratio(taken['from disk'], taken['from memory']).toFixed(2)),
}));
console.table(summary);
writeResults('larger-than-memory', { rows: ROWS, caches: CACHES, summary, values });
