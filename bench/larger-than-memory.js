// All rows of a frame that is several times as large as the cache, from its Parquet file and decoded on disk, against the
// same rows in memory: as Arrow and JSON over HTTP, and by DoGet of Flight.
import { execFileSync } from 'node:child_process';
import { createReadStream, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providePython } from '../tools/python-environment.js';
import { startServer } from '../tools/server-process.js';
import { provideDataSet } from './data-set.js';
import { DECODE_ALWAYS, untilDecoded } from './disk-cache.js';
import { download } from './download.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { median } from './measure.js';
import { putFrame } from './put-frame.js';

const ROWS = 30_000_000;
/** The rows take 1.1 GB in memory. */
const SIDES = {
  'from Parquet': { cacheGb: 0.512, env: DECODE_ALWAYS },
  'decoded on disk': { cacheGb: 0.512 },
  'from memory': { cacheGb: 4 },
};
const TURNS = { rounds: 5, warmUp: 1 };

const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const python = join(providePython('interop-python', file('../interop/python/requirements.txt')), 'python');

async function startSide({ cacheGb, env }, { files }) {
  const server = await startServer(['--cache-size', String(cacheGb)], { env });
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
  for (const [name, side] of Object.entries(SIDES)) servers[name] = await startSide(side, set);
  await untilDecoded(servers['decoded on disk'], () => READS.arrow(servers['decoded on disk']));
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
  'from Parquet, µs a row': perRow(taken['from Parquet']),
  'decoded on disk, µs a row': perRow(taken['decoded on disk']),
  'from memory, µs a row': perRow(taken['from memory']),
  'Parquet / memory': Number(ratio(taken['from Parquet'], taken['from memory']).toFixed(2)),
  'decoded / memory': Number(ratio(taken['decoded on disk'], taken['from memory']).toFixed(2)),
}));
console.table(summary);
writeResults('larger-than-memory', { rows: ROWS, sides: SIDES, summary, values });
