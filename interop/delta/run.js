// Runs the suite of readers of Delta Lake: delta-rs, Polars and DuckDB, from PyPI.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providePython, SetUpError } from '../../tools/python-environment.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const requirements = fileURLToPath(new URL('requirements.txt', import.meta.url));
const args = ['run', '--config', 'interop/delta/vitest.config.js', ...process.argv.slice(2)];
try {
  const env = { ...process.env, SVC_PYTHON: join(providePython('interop-delta', requirements), 'python') };
  const { status } = spawnSync('node_modules/.bin/vitest', args, { cwd: root, stdio: 'inherit', env });
  process.exitCode = status ?? 1;
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
