// The rows of all sides of a comparison, as one Parquet and one CSV file. SQL generates them from the row number, so that
// they are the same in every run, at any length.
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';

const CACHE = fileURLToPath(new URL('../node_modules/.cache/bench-data', import.meta.url));

/** A pseudo-random number below `n` for a row; `salt` differs per column. */
const pick = (salt, n) => `(hash(range, ${salt}) % ${n})`;
const at = `make_timestamp((1704067200000000 + range * 1000000 + ${pick(2, 1_000_000)})::BIGINT)`;
const words = Array.from({ length: 6 }, (_, i) => `md5((range * 6 + ${i})::VARCHAR)`).join(" || ' ' || ");

/** The columns of each set, for a `SELECT` over `range`. */
const SETS = {
  /** bigint, double with two decimals, one of 50 strings, timestamp µs, boolean, int with a tenth of nulls. */
  trades: `range AS id, round(${pick(0, 100_000)} / 100.0, 2)::DOUBLE AS price, 'SYM' || ${pick(1, 50)} AS symbol,
    ${at} AS at, ${pick(3, 2)} = 0 AS flag,
    CASE WHEN ${pick(4, 10)} = 0 THEN NULL ELSE ${pick(5, 1000)}::INTEGER END AS quantity`,
  /** Doubles with all digits. */
  doubles: `range AS id, ${Array.from({ length: 5 }, (_, i) => `sqrt(${pick(i, 1_000_000_007)}) AS x${i}`).join(', ')}`,
  /** 500 columns. */
  wide: `range AS id, ${Array.from({ length: 499 }, (_, i) => `${pick(i, 1_000_000)} / 8.0 AS c${i}`).join(', ')}`,
  /** Strings of 197 characters. */
  texts: `range AS id, ${words} AS body`,
  nested: `range AS id, {'a': ${pick(0, 1000)}::INTEGER, 'b': 'SYM' || ${pick(1, 50)}} AS pair,
    [${pick(2, 100)}::INTEGER, ${pick(3, 100)}::INTEGER, NULL] AS list`,
};

/** Returns the files of a set; created once. */
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

/** Times with all digits: some readers require them. */
function withFixedTimes(select) {
  return `SELECT * REPLACE (strftime("at", '%Y-%m-%dT%H:%M:%S.%fZ') AS "at") FROM (${select})`;
}
