// CSV uploads until they are acknowledged and durable, against DuckDB that reads the same file with types from all rows
// (`sample_size = -1`) and writes an fsynced Parquet file: time, and CPU time of all processes of a side. In the file with
// an odd value, the last value of a column of whole numbers is a text, so that the server starts over.
import { appendFileSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { familyCpuMs } from '../tools/process-resources.js';
import { startServer } from '../tools/server-process.js';
import { provideDataSet } from './data-set.js';
import { median } from './measure.js';
import { startDuckdb } from './peers/duckdb-process.js';
import { putFrame } from './put-frame.js';
import { interleave, ratio, writeResults } from './interleave.js';

/** The Parquet options of the server. */
const COPY_OPTIONS = 'FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3, ROW_GROUP_SIZE 20480';

const short = (await provideDataSet('trades', 1_000_000)).files.csv;
const long = (await provideDataSet('trades', 8_300_000)).files.csv;
const odd = `${short}.odd.csv`;
if (!existsSync(odd)) {
  copyFileSync(short, odd);
  appendFileSync(odd, 'x,1.5,SYM1,2024-01-01T00:00:00.000000Z,true,1\n');
}

const FILES = [
  { file: '1 M rows × 6, 57 MB', path: short, rounds: 7 },
  { file: '8.3 M rows × 6, 471 MB', path: long, rounds: 3 },
  { file: '1 M rows × 6, an odd value in the last row', path: odd, rounds: 5 },
];

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const server = await startServer(['--data-dir', join(directory, 'data')]);
const duckdb = await startDuckdb();

async function measured(pid, run) {
  const [startMs, startCpuMs] = [performance.now(), familyCpuMs(pid)];
  await run();
  return { ms: performance.now() - startMs, cpuMs: familyCpuMs(pid) - startCpuMs };
}

try {
  const values = {};
  for (const { file, path, rounds } of FILES) {
    const body = readFileSync(path);
    const sql = `FROM read_csv('${path}', sample_size = -1)`;
    values[file] = await interleave(
      {
        svc: () => measured(server.pid, () => putFrame(`${server.url}/frames/csv`, 'csv', body)),
        duckdb: () =>
          measured(duckdb.pid, () => duckdb.run('copy', sql, join(directory, 'copy.parquet'), COPY_OPTIONS)),
      },
      { rounds, warmUp: 1 },
    );
  }
  const summary = Object.entries(values).map(([file, { svc, duckdb: peer }]) => ({
    file,
    'svc, ms': Math.round(median(svc.map(({ ms }) => ms))),
    'DuckDB, ms': Math.round(median(peer.map(({ ms }) => ms))),
    ratio: Number(ratio(svc, peer, ({ ms }) => ms).toFixed(2)),
    'svc, CPU ms': Math.round(median(svc.map(({ cpuMs }) => cpuMs))),
    'DuckDB, CPU ms': Math.round(median(peer.map(({ cpuMs }) => cpuMs))),
    'CPU ratio': Number(ratio(svc, peer, ({ cpuMs }) => cpuMs).toFixed(2)),
  }));
  console.table(summary);
  writeResults('csv-uploads', { summary, values });
} finally {
  duckdb.stop();
  await server.stop();
  rmSync(directory, { recursive: true });
}
