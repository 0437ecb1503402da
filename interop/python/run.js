// Runs the Python suite against a real server: creates the Python environment once, starts the server, runs the tests.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providePython, SetUpError } from '../../tools/python-environment.js';
import { startServer } from '../../tools/server-process.js';
import { startTlsServer } from '../../tools/tls-server.js';

const folder = fileURLToPath(new URL('.', import.meta.url));

async function runTests(python, { url, grpc }, tls) {
  const names = process.argv.slice(2);
  const args = names.length > 0 ? names : ['discover', '--start-directory', folder];
  const tests = spawn(python, ['-W', 'error', '-m', 'unittest', ...args], {
    cwd: folder,
    stdio: 'inherit',
    env: {
      ...process.env,
      SVC_URL: url,
      SVC_GRPC: grpc,
      SVC_TLS_URL: tls.url,
      SVC_TLS_GRPC: tls.grpc,
      SVC_TLS_FOLDER: tls.folder,
      SVC_NODE: process.execPath,
      PYTHONDONTWRITEBYTECODE: '1',
    },
  });
  const [code] = await once(tests, 'close');
  return code ?? 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
try {
  const python = join(providePython('interop-python', join(folder, 'requirements.txt')), 'python');
  const server = await startServer();
  const tlsServer = await startTlsServer();
  const code = await runTests(python, server, tlsServer);
  await server.stop();
  await tlsServer.stop();
  process.exit(code);
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  console.error(error.message);
  process.exit(1);
}
