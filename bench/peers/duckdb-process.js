// DuckDB in a dedicated process: a loop that runs one job per message and returns its duration. The upper bound: no HTTP,
// no other process, no copy that DuckDB itself does not need.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';

const FILE = fileURLToPath(import.meta.url);

/** Starts DuckDB; `run` runs a job of `JOBS` and returns its milliseconds and rows. */
export async function startDuckdb() {
  const child = fork(FILE, ['loop']);
  await once(child, 'message');
  return {
    name: 'duckdb (node, in-process)',
    pid: child.pid,
    async run(job, ...args) {
      child.send({ job, args });
      const [{ error, ...result }] = await once(child, 'message');
      if (error) throw new Error(error);
      return result;
    },
    stop: () => child.kill(),
  };
}

const JOBS = {
  /** Reads every value of a query, as columns. */
  async query(connection, sql) {
    const result = await connection.stream(sql);
    let rows = 0;
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) return rows;
      for (let i = 0; i < chunk.columnCount; i++) chunk.getColumnValues(i);
      rows += chunk.rowCount;
    }
  },
  /** Returns the rows of a query. */
  async rows(connection, sql) {
    return (await connection.runAndReadAll(sql)).getRowsJson();
  },
  /** Writes rows to a Parquet file and syncs it. */
  async copy(connection, sql, path, options) {
    await connection.run(`COPY (${sql}) TO '${path}' (${options})`);
    const file = await open(path, 'r+');
    await file.sync();
    await file.close();
    return 0;
  },
};

async function answer(connection, { job, args }) {
  const startMs = performance.now();
  try {
    const rows = await JOBS[job](connection, ...args);
    process.send({ ms: performance.now() - startMs, rows });
  } catch (error) {
    process.send({ error: String(error) });
  }
}

if (process.argv[2] === 'loop') {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  process.on('message', (message) => void answer(connection, message));
  process.send('ready');
}
