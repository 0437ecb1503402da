// Runs Superset against a real server, through the dialect of flightsql-dbapi, and records what works.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MissingPython, providePython, SetUpError } from '../../tools/python-environment.js';
import { runPythonClient } from '../run-python-client.js';

/** Superset wants a NumPy that has no wheels for newer versions of Python. */
const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', import.meta.url));
const OLDEST_PYTHON = [3, 11];
const FIRST_TOO_NEW = [3, 13];

function versionOf(name) {
  return new RegExp(`^${name}==(?<version>\\S+)$`, 'm').exec(readFileSync(REQUIREMENTS, 'utf8')).groups.version;
}

/** Writes the settings that docs/clients.md shows. */
function writeSettings(folder) {
  const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
  const { settings } = /^```python superset-config\n(?<settings>.*?)^```$/ms.exec(page).groups;
  writeFileSync(join(folder, 'superset_config.py'), settings);
}

try {
  const isRight = await runPythonClient('superset', {
    python: join(providePython('interop-superset', REQUIREMENTS, OLDEST_PYTHON, FIRST_TOO_NEW), 'python'),
    row: {
      client: 'Superset',
      version: versionOf('apache-superset'),
      through: `flightsql-dbapi ${versionOf('flightsql-dbapi')}`,
    },
    env: { GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: 'ca.pem' },
    prepare: writeSettings,
  });
  process.exit(isRight ? 0 : 1);
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  const isSkipped = error instanceof MissingPython;
  console.error(isSkipped ? `${error.message} The suite is skipped.` : error.message);
  process.exit(isSkipped ? 0 : 1);
}
