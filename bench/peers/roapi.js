// ROAPI on the Parquet file. It reads it into memory at its start.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../tools/free-ports.js';
import { providePython } from '../../tools/python-environment.js';
import { FIRST_ROWS, POLL_MS, untilReady } from './until-ready.js';

const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', import.meta.url));
const TYPES = {
  json: 'application/json',
  csv: 'application/csv',
  arrow: 'application/vnd.apache.arrow.stream',
};

export const roapi = {
  name: 'ROAPI 0.12.7',
  async start({ name, files }) {
    const program = join(providePython('bench-python', REQUIREMENTS), 'roapi');
    const [http, postgres, flight] = (await freePorts(3)).map((free) => `127.0.0.1:${free}`);
    const others = ['--addr-postgres', postgres, '--addr-flight-sql', flight];
    const args = ['--table', `${name}=${files.parquet}`, '--addr-http', http, ...others];
    const startedAt = performance.now();
    const child = spawn(program, args, { stdio: 'ignore', env: { PATH: process.env.PATH } });
    const exited = once(child, 'exit');
    const url = `http://${http}`;
    await untilReady(`${url}/api/tables/${name}?limit=${FIRST_ROWS}`, child, POLL_MS);
    const startMs = performance.now() - startedAt;
    const sql = (text, format = 'json') => ({
      method: 'POST',
      path: '/api/sql',
      headers: { accept: TYPES[format] },
      body: text,
    });
    return {
      url,
      pid: child.pid,
      /** From the start of the process to the first rows, without the time to locate the program. */
      startMs,
      window: (offset, rows) =>
        offset === 0
          ? { path: `/api/tables/${name}?limit=${rows}` }
          : sql(`select * from ${name} limit ${rows} offset ${offset}`),
      all: (format) => ({ path: `/api/tables/${name}`, headers: { accept: TYPES[format] } }),
      sql,
      rowsOf: (bytes) => JSON.parse(bytes).map((row) => Object.values(row)),
      stop: () => {
        child.kill('SIGKILL');
        return exited;
      },
    };
  },
};
