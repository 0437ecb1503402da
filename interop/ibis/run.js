// Runs Ibis against a real server, through its backend for GizmoSQL, and records what works.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providePython } from '../../tools/python-environment.js';
import { exitWith, requiredVersion, runPythonClient } from '../run-python-client.js';

/** The backend wants exact versions of NumPy and pandas, so it has an environment of its own; that NumPy wants this Python. */
const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', import.meta.url));
const OLDEST_PYTHON = [3, 12];
const OTHERS = ['ibis-gizmosql', 'adbc-driver-flightsql'];

await exitWith(
  () =>
    runPythonClient('ibis', {
      python: join(providePython('interop-ibis', REQUIREMENTS, OLDEST_PYTHON), 'python'),
      row: {
        client: 'Ibis',
        version: requiredVersion(REQUIREMENTS, 'ibis-framework'),
        through: OTHERS.map((name) => `${name} ${requiredVersion(REQUIREMENTS, name)}`).join(', '),
      },
    }),
  { isOptional: true },
);
