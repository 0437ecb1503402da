// DuckDB in a process of its own: a loop that takes one job a message, and answers how long it took. The limit to measure
// against: no HTTP, no other process, no copy that DuckDB does not need itself.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';

const FILE = fileURLToPath(import.meta.url);

/** Starts DuckDB; `run` does a job of `JOBS` and gives the milliseconds it took and the rows it saw. */
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
  /** Every value of a query, read as columns. */
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
  /** The rows of a query themselves. */
  async rows(connection, sql) {
    return (await connection.runAndReadAll(sql)).getRowsJson();
  },
  /** Rows into a Parquet file that is on disk when it is done. */
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
