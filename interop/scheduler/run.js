// Runs the suite of clusters against a real Sail and a real Spark, which it installs once and starts. Arguments go to Vitest:
// the name of an engine runs its tests alone.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { providePython, SetUpError } from '../../tools/python-environment.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

const ENGINES = ['sail', 'spark'];

/** Sail refuses to run beside a version of pyspark that it does not know: each has an environment of its own. */
function provide(engine) {
  return providePython(`interop-${engine}`, fileURLToPath(new URL(`requirements-${engine}.txt`, import.meta.url)));
}

try {
  const given = process.argv.slice(2);
  const engines = ENGINES.some((engine) => given.includes(engine))
    ? ENGINES.filter((engine) => given.includes(engine))
    : ENGINES;
  const programs = engines.map((engine) => [`SVC_${engine.toUpperCase()}_PROGRAMS`, provide(engine)]);
  const env = { ...process.env, ...Object.fromEntries(programs) };
  const args = ['run', '--config', 'interop/scheduler/vitest.config.js', ...given];
  const { status } = spawnSync('node_modules/.bin/vitest', args, { cwd: root, stdio: 'inherit', env });
  process.exit(status ?? 1);
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  console.error(error.message);
  process.exit(1);
}
