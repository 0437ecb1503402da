// Runs Ibis against a real server, through its backend for GizmoSQL, and records what works.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MissingPython, providePython, SetUpError } from '../../tools/python-environment.js';
import { runPythonClient } from '../run-python-client.js';

/** The backend wants exact versions of NumPy and pandas, so it has an environment of its own; that NumPy wants this Python. */
const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', import.meta.url));
const OLDEST_PYTHON = [3, 12];

function versionOf(name) {
  const line = readFileSync(REQUIREMENTS, 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${name}==`));
  return line.split('==')[1];
}

try {
  const others = ['ibis-gizmosql', 'adbc-driver-flightsql'].map((name) => `${name} ${versionOf(name)}`);
  const isRight = await runPythonClient('ibis', {
    python: join(providePython('interop-ibis', REQUIREMENTS, OLDEST_PYTHON), 'python'),
    row: { client: 'Ibis', version: versionOf('ibis-framework'), through: others.join(', ') },
  });
  process.exit(isRight ? 0 : 1);
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  // All other suites do with an older Python.
  const isSkipped = error instanceof MissingPython;
  console.error(isSkipped ? `${error.message} The suite is skipped.` : error.message);
  process.exit(isSkipped ? 0 : 1);
}
