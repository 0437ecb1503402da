// The size of price bars on disk: 1 M rows of open, high, low, close and volume of 20 symbols, with each codec of
// compression.algorithm, against the same rows as CSV and as Arrow.
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { startServer } from '../tools/server-process.js';
import { putFrame } from './put-frame.js';
import { writeResults } from './interleave.js';

const ROWS = 1_000_000;
const CODECS = ['zstd', 'snappy', 'gzip', 'lz4', 'none'];
/** Prices in cents as a random walk per symbol. */
const BARS = `
  WITH steps AS (
    SELECT range AS i, range % 20 AS s, (hash(range, 0) % 21)::INTEGER - 10 AS step, hash(range, 1) AS h FROM range(${ROWS})
  ), walk AS (
    SELECT i, s, h, 10000 + sum(step) OVER (PARTITION BY s ORDER BY i) AS cents FROM steps
  )
  SELECT make_timestamp((1704067200000000 + (i // 20) * 60000000)::BIGINT) AS "minute", 'SYM' || s AS symbol,
    cents / 100.0::DOUBLE AS open, (cents + h % 15) / 100.0::DOUBLE AS high, (cents - h % 13) / 100.0::DOUBLE AS low,
    (cents + (h % 9)::INTEGER - 4) / 100.0::DOUBLE AS close, (h % 5000)::BIGINT AS volume
  FROM walk ORDER BY i`;

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
try {
  const file = join(directory, 'bars.parquet');
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run(`COPY (${BARS}) TO '${file}' (FORMAT parquet)`);
  connection.closeSync();
  const body = await readFile(file);
  const sizes = {};
  for (const codec of CODECS) {
    const server = await startServer(['--data-dir', join(directory, codec)], { env: { SERVICE_COMPRESSION: codec } });
    try {
      const { bytes } = await putFrame(`${server.url}/frames/bars`, 'parquet', body);
      sizes[`Parquet, ${codec}`] = bytes;
      if (codec !== CODECS[0]) continue;
      for (const format of ['csv', 'arrow']) {
        const answer = await fetch(`${server.url}/exp?handle=bars&fmt=${format}`, {
          headers: { 'accept-encoding': 'identity' },
        });
        sizes[format] = (await answer.arrayBuffer()).byteLength;
      }
    } finally {
      await server.stop();
    }
  }
  const summary = Object.entries(sizes).map(([form, bytes]) => ({
    form,
    MB: Number((bytes / 1e6).toFixed(2)),
    'bytes per row': Number((bytes / ROWS).toFixed(2)),
    'of the CSV': Number((bytes / sizes.csv).toFixed(3)),
  }));
  console.table(summary);
  writeResults('file-sizes', { rows: ROWS, summary });
} finally {
  rmSync(directory, { recursive: true });
}
