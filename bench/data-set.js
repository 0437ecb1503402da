// The rows that all sides of a comparison hold: made by SQL from their numbers, so that they are the same at every run and
// of any length, in one Parquet and one CSV file.
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';

const CACHE = fileURLToPath(new URL('../node_modules/.cache/bench-data', import.meta.url));

/** A number below `n` that belongs to a row; `salt` tells columns apart. */
const pick = (salt, n) => `(hash(range, ${salt}) % ${n})`;
const at = `make_timestamp((1704067200000000 + range * 1000000 + ${pick(2, 1_000_000)})::BIGINT)`;
const words = Array.from({ length: 6 }, (_, i) => `md5((range * 6 + ${i})::VARCHAR)`).join(" || ' ' || ");

/** What each set is, as the columns of a `SELECT` over `range`. */
const SETS = {
  /** bigint, double of two decimals, one of 50 texts, timestamp µs, boolean, int of which a tenth is null. */
  trades: `range AS id, round(${pick(0, 100_000)} / 100.0, 2)::DOUBLE AS price, 'SYM' || ${pick(1, 50)} AS symbol,
    ${at} AS at, ${pick(3, 2)} = 0 AS flag,
    CASE WHEN ${pick(4, 10)} = 0 THEN NULL ELSE ${pick(5, 1000)}::INTEGER END AS quantity`,
  /** Doubles with all their digits. */
  doubles: `range AS id, ${Array.from({ length: 5 }, (_, i) => `sqrt(${pick(i, 1_000_000_007)}) AS x${i}`).join(', ')}`,
  /** 500 columns. */
  wide: `range AS id, ${Array.from({ length: 499 }, (_, i) => `${pick(i, 1_000_000)} / 8.0 AS c${i}`).join(', ')}`,
  /** Texts of 197 characters. */
  texts: `range AS id, ${words} AS body`,
  nested: `range AS id, {'a': ${pick(0, 1000)}::INTEGER, 'b': 'SYM' || ${pick(1, 50)}} AS pair,
    [${pick(2, 100)}::INTEGER, ${pick(3, 100)}::INTEGER, NULL] AS list`,
};

/** The files of a set; made once. */
export async function provideDataSet(name, rows) {
  mkdirSync(CACHE, { recursive: true });
  const files = { parquet: join(CACHE, `${name}-${rows}.parquet`), csv: join(CACHE, `${name}-${rows}.csv`) };
  const select = `SELECT ${SETS[name]} FROM range(${rows})`;
  const isFlat = name !== 'nested';
  for (const [format, path] of Object.entries(files)) {
    if (existsSync(path) || (format === 'csv' && (!isFlat || rows > 10_000_000))) continue;
    const options = format === 'csv' ? 'FORMAT csv, HEADER' : 'FORMAT parquet, COMPRESSION zstd';
    const rowsOfFile = format === 'csv' && name === 'trades' ? withFixedTimes(select) : select;
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    await connection.run(`COPY (${rowsOfFile}) TO '${path}.part' (${options})`);
    connection.closeSync();
    renameSync(`${path}.part`, path);
  }
  return { name, rows, files };
}

/** Times with all their digits: not every reader takes fewer. */
function withFixedTimes(select) {
  return `SELECT * REPLACE (strftime("at", '%Y-%m-%dT%H:%M:%S.%fZ') AS "at") FROM (${select})`;
}
