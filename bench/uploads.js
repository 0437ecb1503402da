// Uploads until they are acknowledged and durable, against DuckDB that reads the same file and writes an fsynced Parquet
// file. Arrow has no such peer here: DuckDB in Node does not read it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../tools/server-process.js';
import { provideDataSet } from './data-set.js';
import { median } from './measure.js';
import { startDuckdb } from './peers/duckdb-process.js';
import { putFrame } from './put-frame.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { tradesAsArrow } from './trades-frame.js';

const ROWS = 1_000_000;
const ROUNDS = 9;
/** The Parquet options of the server. */
const COPY_OPTIONS = 'FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3, ROW_GROUP_SIZE 20480';

const { files } = await provideDataSet('trades', ROWS);
const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const server = await startServer(['--data-dir', join(directory, 'data')]);
const duckdb = await startDuckdb();

const UPLOADS = {
  csv: { body: readFileSync(files.csv), sql: `FROM read_csv('${files.csv}')` },
  parquet: { body: readFileSync(files.parquet), sql: `FROM read_parquet('${files.parquet}')` },
  arrow: { body: tradesAsArrow(ROWS) },
};

try {
  const values = {};
  for (const [format, { body, sql }] of Object.entries(UPLOADS)) {
    const put = async (round) => {
      const startMs = performance.now();
      await putFrame(`${server.url}/frames/${format}-${round}`, format, body);
      return performance.now() - startMs;
    };
    const copy = async () => (await duckdb.run('copy', sql, join(directory, 'copy.parquet'), COPY_OPTIONS)).ms;
    values[format] = await interleave({ svc: put, ...(sql && { duckdb: copy }) }, { rounds: ROUNDS });
  }
  const summary = Object.entries(values).map(([format, sides]) => ({
    format,
    'svc, ms': Math.round(median(sides.svc)),
    'DuckDB COPY and fsync, ms': sides.duckdb && Math.round(median(sides.duckdb)),
    ratio: sides.duckdb && Number(ratio(sides.svc, sides.duckdb).toFixed(2)),
  }));
  console.table(summary);
  writeResults('uploads', { rows: ROWS, summary, values });
} finally {
  duckdb.stop();
  await server.stop();
  rmSync(directory, { recursive: true });
}
