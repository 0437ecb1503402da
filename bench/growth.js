// How time and memory grow with the rows, from 10^5 to 10^8: all rows as JSON, CSV and Arrow, read from disk.
import { createReadStream, statSync } from 'node:fs';
import { residentBytes } from '../tools/process-resources.js';
import { startServer } from '../tools/server-process.js';
import { provideDataSet } from './data-set.js';
import { DECODE_ALWAYS } from './disk-cache.js';
import { download } from './download.js';
import { median } from './measure.js';
import { putFrame } from './put-frame.js';
import { writeResults } from './interleave.js';

const SIZES = (process.env.BENCH_SIZES ?? '100000,1000000,10000000,100000000').split(',').map(Number);
const FORMATS = ['json', 'csv', 'arrow'];
/** A run over 10^8 rows takes a minute. */
const roundsOf = (rows) => (rows > 10_000_000 ? 1 : 5);

async function measure(url, pid) {
  const before = residentBytes(pid);
  let peak = before;
  const watch = () => (peak = Math.max(peak, residentBytes(pid)));
  const { bytes, ms } = await download(url, { watch });
  return { ms, bytes, growthMiB: (peak - before) / 2 ** 20 };
}

const values = [];
for (const rows of SIZES) {
  const { files } = await provideDataSet('trades', rows);
  // The cache is too small for the frame: every read is from its file.
  const server = await startServer(['--cache-size', '0.001'], { env: DECODE_ALWAYS });
  try {
    const headers = { 'content-length': String(statSync(files.parquet).size) };
    await putFrame(`${server.url}/frames/trades`, 'parquet', createReadStream(files.parquet), headers);
    await download(`${server.url}/exp?handle=trades&fmt=ndjson&limit=100000`);
    for (const format of FORMATS) {
      const path = format === 'json' ? '/exec?handle=trades&fmt=json&limit=1,' : `/exp?handle=trades&fmt=${format}`;
      for (let round = 0; round < roundsOf(rows); round++) {
        const value = { rows, format, round, ...(await measure(`${server.url}${path}`, server.pid)) };
        values.push(value);
        console.log(rows, format, Math.round(value.ms), Math.round(value.growthMiB));
      }
    }
  } finally {
    await server.stop();
  }
}

const summary = FORMATS.flatMap((format) =>
  SIZES.map((rows) => {
    const own = values.filter((value) => value.format === format && value.rows === rows);
    const ms = median(own.map((value) => value.ms));
    return {
      format,
      rows,
      ms: Math.round(ms),
      'ns per row': Math.round((ms * 1e6) / rows),
      'growth, MiB': Math.round(Math.max(...own.map((value) => value.growthMiB))),
    };
  }),
);
console.table(summary);
writeResults('growth', { summary, values });
