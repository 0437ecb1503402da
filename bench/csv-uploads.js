// CSV uploads until they are acknowledged and durable, against DuckDB that reads the same file with types from all rows
// (`sample_size = -1`) and writes an fsynced Parquet file: time, and CPU time of all processes of a side. In the files with
// an odd value, one value of a column of whole numbers is a text: the last, which the server finds before it writes, or
// one near the middle, for which it starts over.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
const ODD_ROW = 'x,1.5,SYM1,2024-01-01T00:00:00.000000Z,true,1\n';

/** A copy of the short file with an odd value at a share of its bytes. */
function withOddValue(name, share) {
  const path = `${short}.${name}.csv`;
  if (existsSync(path)) return path;
  const bytes = readFileSync(short);
  const at = bytes.indexOf('\n', Math.floor(share * (bytes.length - 1))) + 1;
  writeFileSync(path, Buffer.concat([bytes.subarray(0, at), Buffer.from(ODD_ROW), bytes.subarray(at)]));
  return path;
}

const FILES = [
  { file: '1 M rows × 6, 57 MB', path: short, rounds: 7 },
  { file: '8.3 M rows × 6, 471 MB', path: long, rounds: 3 },
  { file: '1 M rows × 6, an odd value in the last row', path: withOddValue('odd-end', 1), rounds: 5 },
  { file: '1 M rows × 6, an odd value near the middle', path: withOddValue('odd-middle', 0.47), rounds: 5 },
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
