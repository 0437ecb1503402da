// Mosaic's duckdb-server with the rows in a table in memory. It supports only Arrow.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tableFromIPC } from 'apache-arrow';
import { freePorts } from '../../tools/free-ports.js';
import { providePython } from '../../tools/python-environment.js';
import { untilReady } from './until-ready.js';

const REQUIREMENTS = fileURLToPath(new URL('mosaic-requirements.txt', import.meta.url));

export const mosaic = {
  name: "Mosaic's duckdb-server 0.34.2",
  formats: ['arrow'],
  async start({ name, files }) {
    const program = join(providePython('bench-mosaic', REQUIREMENTS, [3, 12]), 'duckdb-server');
    const [port] = await freePorts(1);
    const child = spawn(program, ['--port', String(port)], { stdio: 'ignore' });
    const url = `http://127.0.0.1:${port}`;
    const headers = { 'content-type': 'application/json' };
    const ask = (type, sql) => ({ method: 'POST', path: '/', headers, body: JSON.stringify({ type, sql }) });
    const sql = (text) => ask('arrow', text);
    await untilReady(url, child, 10, ask('exec', `CREATE OR REPLACE TABLE ${name} AS FROM '${files.parquet}'`));
    return {
      url,
      pid: child.pid,
      window: (offset, rows) => sql(`select * from ${name} limit ${rows} offset ${offset}`),
      all: (format) => (format === 'arrow' ? sql(`select * from ${name}`) : undefined),
      sql,
      rowsOf: (bytes) => tableFromIPC(bytes).toArray().map(valuesOf),
      stop: () => child.kill('SIGKILL'),
    };
  },
};

function valuesOf(row) {
  return Object.entries(row.toJSON()).map(([name, value]) => (name === 'at' ? timeText(value) : plain(value)));
}

/** Converts a value to its JSON form. */
function plain(value) {
  return JSON.parse(JSON.stringify(value, (_key, inner) => (typeof inner === 'bigint' ? Number(inner) : inner)));
}

/** Times come in milliseconds with decimals. */
function timeText(ms) {
  const micros = Math.round(ms * 1000);
  const fraction = String(micros % 1_000_000).padStart(6, '0');
  const seconds = new Date((micros - (micros % 1_000_000)) / 1000).toISOString().slice(0, 19);
  return `${seconds}.${fraction}Z`;
}
