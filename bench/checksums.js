// The cost of verifying checksums: reads from disk with verification, against the same reads of verified files.
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../tools/server-process.js';
import { DECODE_ALWAYS } from './disk-cache.js';
import { createClient, download } from './download.js';
import { median, timed } from './measure.js';
import { putFrame } from './put-frame.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { tradesAsArrow } from './trades-frame.js';

const ROWS = 1_000_000;

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const client = createClient();
const ended = [async () => client.close(), async () => rmSync(directory, { recursive: true })];

/** A server without a cache of rows and responses. */
async function startCold() {
  const env = DECODE_ALWAYS;
  const server = await startServer(['--parquet-path', directory, '--cache-size', '0.001'], { env });
  ended.unshift(server.stop);
  return server;
}

try {
  const { url } = await startCold();
  await putFrame(`${url}/frames/trades`, 'arrow', tradesAsArrow(ROWS));
  const folder = join(directory, 'default');
  const name = (await readdir(folder)).find((entry) => entry.endsWith('.parquet'));
  /** A file with a new modification time counts as a new file that is not verified yet. */
  const touch = () => utimes(join(folder, name), new Date(), new Date());

  async function compare(read, rounds) {
    await read();
    return interleave(
      {
        verifying: async () => {
          await touch();
          return timed(read);
        },
        verified: () => timed(read),
      },
      { rounds, warmUp: 10 },
    );
  }

  const sql = encodeURIComponent('SELECT symbol, avg(price) FROM trades GROUP BY symbol');
  const values = {
    'a window of 1000 rows': await compare(
      () => client.read(`${url}/exec?handle=trades&fmt=json&limit=500000,501000`),
      101,
    ),
    'one column of all rows': await compare(() => download(`${url}/exp?handle=trades&fmt=arrow&cols=price`), 41),
    'all rows': await compare(() => download(`${url}/exp?handle=trades&fmt=arrow`), 41),
    'SQL over all rows': await compare(() => client.read(`${url}/exec?engine=local&fmt=json&query=${sql}`), 41),
  };
  const summary = Object.entries(values).map(([read, { verifying, verified }]) => ({
    read,
    ratio: ratio(verifying, verified),
    'verifying, ms': median(verifying),
    'verified before, ms': median(verified),
  }));
  console.table(summary);
  writeResults('checksums', { rows: ROWS, summary, values });
} finally {
  for (const end of ended) await end();
}
