// Runs Superset against a real server, through the dialect of flightsql-dbapi, and records what works.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providePython } from '../../tools/python-environment.js';
import { exitWith, requiredVersion, runPythonClient } from '../run-python-client.js';

/** Superset wants a NumPy that has no wheels for newer versions of Python. */
const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', import.meta.url));
const OLDEST_PYTHON = [3, 11];
const FIRST_TOO_NEW = [3, 13];

/** Writes the settings that docs/clients.md shows. */
function writeSettings(folder) {
  const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
  const { settings } = /^```python superset-config\n(?<settings>.*?)^```$/ms.exec(page).groups;
  writeFileSync(join(folder, 'superset_config.py'), settings);
}

await exitWith(
  () =>
    runPythonClient('superset', {
      python: join(providePython('interop-superset', REQUIREMENTS, OLDEST_PYTHON, FIRST_TOO_NEW), 'python'),
      row: {
        client: 'Superset',
        version: requiredVersion(REQUIREMENTS, 'apache-superset'),
        through: `flightsql-dbapi ${requiredVersion(REQUIREMENTS, 'flightsql-dbapi')}`,
      },
      env: { GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: 'ca.pem' },
      prepare: writeSettings,
    }),
  { isOptional: true },
);
