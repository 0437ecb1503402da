// The simple approach: a Node HTTP server with DuckDB in its process, rows as arrays and JSON.stringify.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';

const FILE = fileURLToPath(import.meta.url);

export const naiveNode = {
  name: 'Node + getRowsJson',
  async start({ name, files }) {
    const child = fork(FILE, ['serve', files.parquet], { execArgv: ['--max-old-space-size=8192'] });
    const [port] = await once(child, 'message');
    const sql = (text) => ({ path: `/sql?query=${encodeURIComponent(text)}` });
    const ofTable = (text) => sql(text.replace('FRAME', name));
    return {
      url: `http://127.0.0.1:${port}`,
      pid: child.pid,
      window: (offset, rows) => ofTable(`select * from FRAME limit ${rows} offset ${offset}`),
      all: (format) => (format === 'json' ? ofTable('select * from FRAME') : undefined),
      sql,
      rowsOf: (bytes) => JSON.parse(bytes),
      stop: () => child.kill('SIGKILL'),
    };
  },
};

async function serveFile(path) {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const table = /([a-z]+)-\d+\.parquet$/.exec(path)?.[1];
  await connection.run(`CREATE TABLE ${table} AS FROM read_parquet('${path}')`);
  async function answer(request, response) {
    const sql = new URL(request.url, 'http://localhost').searchParams.get('query');
    const body = JSON.stringify((await connection.runAndReadAll(sql)).getRowsJson());
    response.setHeader('content-type', 'application/json');
    response.end(body);
  }
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
}

if (process.argv[2] === 'serve') await serveFile(process.argv[3]);
