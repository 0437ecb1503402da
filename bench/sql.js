// SQL over frames in a sandboxed child, against DuckDB in a dedicated process, on the same Parquet files: group-by, join,
// window and as-of join over many rows, and very short statements.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDurableStore, createFrameFiles, createSqlEngine } from '../packages/duckdb/dist/index.js';
import { compareTexts } from './compare-responses.js';
import { provideDataSet } from './data-set.js';
import { createClient } from './download.js';
import { median } from './measure.js';
import { startDuckdb } from './peers/duckdb-process.js';
import { svc } from './peers/svc.js';
import { interleave, writeResults } from './interleave.js';

const SIZES = [1_000_000, 10_000_000];
/** The Parquet options of the server. */
const COPY_OPTIONS = 'FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3, ROW_GROUP_SIZE 20480';
/** The absolute allowance of a statement, besides the target ratio. */
const EXTRA_MS = 5;
const AIM = '≤ 1.15';
const AIM_AT_ONCE = '≤ 5 ms more';

const QUERIES = {
  'group-by': 'SELECT symbol, count(*), sum(price * quantity), max(ts) FROM trades GROUP BY symbol ORDER BY symbol',
  join: 'SELECT q.sector, avg(t.price) FROM trades t JOIN symbols q USING (symbol) GROUP BY q.sector ORDER BY 1',
  window:
    'SELECT max(m) FROM (SELECT avg(price) OVER (PARTITION BY symbol ORDER BY ts ROWS 20 PRECEDING) AS m FROM trades)',
  'as-of join':
    'SELECT count(*), avg(t.price - q.bid) FROM trades t ASOF JOIN quotes q ON t.symbol = q.symbol AND t.ts >= q.ts',
};
const SMALL = { 'SELECT 1': 'SELECT 1', '1 row of 50': "SELECT sector FROM symbols WHERE symbol = 'SYM7'" };

/** Writes the frames of a size as files put into the folder by hand. */
async function writeFrames(duckdb, folder, rows) {
  const symbol = "'SYM' || (hash(i) % 50)::VARCHAR";
  const ts = "TIMESTAMP '2024-01-01' + to_microseconds(i * 1000000 + (hash(i + 1) % 1000000)::BIGINT)";
  const trades = `SELECT i AS id, round((hash(i + 2) % 100000) / 100, 2) AS price, ${symbol} AS symbol, ${ts} AS ts,
    (hash(i + 3) % 2 = 0) AS flag, CASE WHEN hash(i + 4) % 10 > 0 THEN (hash(i + 5) % 1000)::INTEGER END AS quantity
    FROM range(${rows}) t(i)`;
  const quotes = `SELECT ${symbol} AS symbol, ${ts} AS ts, (hash(i + 6) % 1000) / 10 AS bid FROM range(0, ${rows}, 10) t(i)`;
  const symbols = "SELECT 'SYM' || i AS symbol, 'sector ' || (i % 7) AS sector FROM range(50) t(i)";
  for (const [name, sql] of Object.entries({ trades, quotes, symbols })) {
    await duckdb.run('copy', sql, join(folder, `${name}.parquet`), COPY_OPTIONS);
  }
}

/** Rewrites the SQL to read the files directly. */
function overFiles(sql, folder) {
  return sql.replaceAll(
    /\b(?:trades|quotes|symbols)\b/g,
    (name) => `read_parquet('${join(folder, `${name}.parquet`)}')`,
  );
}

const newCall = () => ({ tenant: 'default', requestId: 'bench', signal: new AbortController().signal });

/** Checks before timing that both sides return the same values. */
async function compare({ engine, duckdb, folder }, name, sql) {
  const asTexts = `SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (${sql})`;
  const answer = await engine.query(newCall(), asTexts);
  const rows = [];
  for await (const batch of answer.batches) for (const row of batch) rows.push(Object.values(row.toJSON()));
  answer.close();
  compareTexts(rows, (await duckdb.run('rows', overFiles(asTexts, folder))).rows, name);
}

async function ask(engine, sql) {
  const startMs = performance.now();
  const answer = await engine.query(newCall(), sql);
  let rows = 0;
  for await (const batch of answer.batches) rows += batch.numRows;
  answer.close();
  if (rows === 0) throw new Error(`There are no rows of ${sql}`);
  return performance.now() - startMs;
}

function measure({ engine, duckdb, folder }, sql, turns) {
  return interleave(
    {
      engine: () => ask(engine, sql),
      duckdb: async () => (await duckdb.run('query', overFiles(sql, folder))).ms,
    },
    turns,
  );
}

const rounded = (value, digits = 1) => Number(value.toFixed(digits));

function summed({ engine, duckdb }, aim) {
  return {
    'engine, ms': rounded(median(engine)),
    'duckdb, ms': rounded(median(duckdb)),
    ...(aim === AIM && {
      'ratio less 5 ms': rounded(median(engine.map((ms, i) => Math.max(0, ms - EXTRA_MS) / duckdb[i])), 2),
    }),
    'ms more': rounded(median(engine.map((ms, i) => ms - duckdb[i]))),
    aim,
  };
}

/** A group-by over HTTP of a put file, against DuckDB on it. */
async function measureHttp(duckdb) {
  const set = await provideDataSet('trades', SIZES[0]);
  const server = await svc.start(set);
  const client = createClient();
  const over = (table) =>
    `SELECT symbol, count(*), sum(price * quantity), max("at") FROM ${table} GROUP BY symbol ORDER BY symbol`;
  try {
    const url = `${server.url}${server.sql(over('trades')).path}`;
    return await interleave(
      {
        engine: async () => {
          const startMs = performance.now();
          await client.read(url);
          return performance.now() - startMs;
        },
        duckdb: async () => (await duckdb.run('query', over(`read_parquet('${set.files.parquet}')`))).ms,
      },
      { rounds: 25, warmUp: 5 },
    );
  } finally {
    client.close();
    await server.stop();
  }
}

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const summary = {};
const values = {};
function keep(name, taken, aim) {
  values[name] = taken;
  summary[name] = summed(taken, aim);
}

const duckdb = await startDuckdb();
try {
  for (const rows of SIZES) {
    const folder = join(directory, String(rows), 'default');
    mkdirSync(folder, { recursive: true });
    await writeFrames(duckdb, folder, rows);
    const files = createFrameFiles({ tempDirectory: directory });
    const store = await createDurableStore({ directory: join(directory, String(rows)), files });
    const engine = createSqlEngine({ store, tempDirectory: directory, memoryBytes: 4e9 });
    const parts = { engine, duckdb, folder };
    const turns = rows > 1e6 ? { rounds: 7, warmUp: 1 } : { rounds: 15, warmUp: 3 };
    for (const [name, sql] of Object.entries({ ...QUERIES, ...SMALL })) await compare(parts, name, sql);
    for (const [name, sql] of Object.entries(QUERIES)) {
      keep(`${name}, ${rows / 1e6} M rows`, await measure(parts, sql, turns), AIM);
    }
    if (rows === SIZES[0]) {
      for (const [name, sql] of Object.entries(SMALL)) {
        keep(name, await measure(parts, sql, { rounds: 201, warmUp: 20 }), AIM_AT_ONCE);
      }
    }
    await engine.close();
    await store.close();
  }
  keep('group-by of 1 M rows over HTTP', await measureHttp(duckdb), AIM);
  console.table(summary);
  writeResults('sql', { summary, values });
} finally {
  duckdb.stop();
  rmSync(directory, { recursive: true });
}
