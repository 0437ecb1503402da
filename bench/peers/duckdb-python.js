// DuckDB in Python: rows as an Arrow IPC stream, by its C++ path.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { providePython } from '../../tools/python-environment.js';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** Starts it; `run` returns the milliseconds, rows and bytes of a query. */
export async function startDuckdbPython() {
  const programs = providePython('bench-python', join(folder, 'requirements.txt'));
  const child = spawn(join(programs, 'python'), [join(folder, 'duckdb_arrow.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value);
  const { ready } = await next();
  return {
    name: `duckdb ${ready} (python, in-process)`,
    pid: child.pid,
    async run(sql) {
      child.stdin.write(`${JSON.stringify(sql)}\n`);
      return next();
    },
    stop: () => child.kill(),
  };
}
