// Runs the Python suite against a real server: makes the Python environment once, starts the server, runs the tests.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { providePython, SetUpError } from '../../tools/python-environment.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'interop/python');

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
  const python = join(providePython('interop-python', join(folder, 'requirements.txt')), 'python');
  process.exit(await runTests(python, await startServer(home)));
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  console.error(error.message);
  process.exit(1);
}
