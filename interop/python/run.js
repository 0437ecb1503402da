// Runs the Python suite against a real server: makes the Python environment once, starts the server, runs the tests.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'interop/python');
const requirements = join(folder, 'requirements.txt');
const PYTHON = 'python3';

class SetUpError extends Error {}

function pythonVersion() {
  const { status, stdout } = spawnSync(PYTHON, ['-c', 'import sys; print(*sys.version_info[:3])'], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new SetUpError(`The Python suite needs Python 3.11 or newer: there is no ${PYTHON} here.`);
  const [major, minor, patch] = stdout.trim().split(' ').map(Number);
  const version = `${major}.${minor}.${patch}`;
  if (major < 3 || minor < 11) throw new SetUpError(`The Python suite needs Python 3.11 or newer; this is ${version}.`);
  return version;
}

function step(what, command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', timeout: 600_000 });
  if (status !== 0) throw new SetUpError(`${what} failed:\n${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`);
}

/** The Python of an environment with the packages of requirements.txt: made once for each list and version of Python. */
function providePython() {
  const hash = createHash('sha256').update(pythonVersion()).update(readFileSync(requirements)).digest('hex');
  const environment = join(root, 'node_modules/.cache', `interop-python-${hash.slice(0, 16)}`);
  const python = join(environment, 'bin/python');
  const stamp = join(environment, 'complete');
  if (existsSync(stamp)) return python;
  console.error('Installing the Python packages of the suite; this happens once.');
  rmSync(environment, { recursive: true, force: true });
  const venv = `Making a virtual environment (${PYTHON} -m venv; on Debian it is in the package python3-venv)`;
  step(venv, PYTHON, ['-m', 'venv', environment]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:'];
  step('Installing the Python packages', python, [...pip, '--requirement', requirements]);
  writeFileSync(stamp, '');
  return python;
}

/** A server of this checkout on free ports; it ends with this process. */
async function startServer(home) {
  const local = ['--http-bind-address', '127.0.0.1:0', '--grpc-host', '127.0.0.1', '--grpc-port', '0'];
  const server = spawn(process.execPath, [join(root, 'apps/server/bin/server.js'), ...local], {
    stdio: ['ignore', 'inherit', 'pipe'],
    // An empty home, so that no configuration of the machine reaches it.
    env: { PATH: process.env.PATH, HOME: home, SERVICE_LOG_FORMAT: 'json', SERVICE_LOG_LEVEL: 'error' },
  });
  process.on('exit', () => server.kill('SIGKILL'));
  return new Promise((resolve, reject) => {
    server.on('exit', () => reject(new SetUpError('The server ended; see above.')));
    createInterface({ input: server.stderr }).on('line', (line) => {
      const { message, http, grpc } = JSON.parse(line);
      if (message === 'ready') resolve({ http, grpc });
      else console.error(line);
    });
  });
}

async function runTests(python, { http, grpc }) {
  const names = process.argv.slice(2);
  const args = names.length > 0 ? names : ['discover', '--start-directory', folder];
  const tests = spawn(python, ['-W', 'error', '-m', 'unittest', ...args], {
    cwd: folder,
    stdio: 'inherit',
    env: { ...process.env, SVC_URL: http, SVC_GRPC: grpc, PYTHONDONTWRITEBYTECODE: '1' },
  });
  const [code] = await once(tests, 'close');
  return code ?? 1;
}

const home = mkdtempSync(join(tmpdir(), 'svc-interop-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
try {
  const python = providePython();
  process.exit(await runTests(python, await startServer(home)));
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  console.error(error.message);
  process.exit(1);
}
