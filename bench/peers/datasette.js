// Datasette on an SQLite file with the same rows.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../tools/free-ports.js';
import { providePython } from '../../tools/python-environment.js';
import { untilReady } from './until-ready.js';

const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', import.meta.url));
const COPY = `
import sqlite3, sys, duckdb
rows = duckdb.sql(f"""select * replace ("at"::varchar as "at") from '{sys.argv[1]}'""")
db = sqlite3.connect(sys.argv[2])
db.execute("create table trades (id integer primary key, price real, symbol text, at text, flag integer, quantity integer)")
while batch := rows.fetchmany(50000):
    db.executemany("insert into trades values (?, ?, ?, ?, ?, ?)", batch)
db.commit()
`;

export const datasette = {
  name: 'Datasette 0.65.5',
  async start({ name, files }) {
    if (name !== 'trades') throw new Error(`Datasette has no table for ${name}.`);
    const programs = providePython('bench-python', REQUIREMENTS);
    const folder = mkdtempSync(join(tmpdir(), 'svc-datasette-'));
    const file = join(folder, 'bench.db');
    const { status, stderr } = spawnSync(join(programs, 'python'), ['-c', COPY, files.parquet, file], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
    const [port] = await freePorts(1);
    const settings = ['--setting', 'max_returned_rows', '1000000', '--setting', 'sql_time_limit_ms', '60000'];
    const args = [file, '--host', '127.0.0.1', '--port', String(port), ...settings];
    const child = spawn(join(programs, 'datasette'), args, { stdio: 'ignore' });
    const url = `http://127.0.0.1:${port}`;
    await untilReady(`${url}/-/versions.json`, child);
    const sql = (text) => ({ path: `/bench.json?_shape=arrays&sql=${encodeURIComponent(text)}` });
    return {
      url,
      pid: child.pid,
      window: (offset, rows) => sql(`select * from trades limit ${rows} offset ${offset}`),
      all: (format) => (format === 'json' ? sql('select * from trades limit 1000000') : undefined),
      sql,
      rowsOf: (bytes) => JSON.parse(bytes).rows,
      stop() {
        child.kill('SIGKILL');
        rmSync(folder, { recursive: true });
      },
    };
  },
};
