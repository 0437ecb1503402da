// Runs the Go clients of Flight and Flight SQL against a real server.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startServer } from '../../tools/server-process.js';
import { startTlsServer } from '../../tools/tls-server.js';
import { recordClients } from '../record-clients.js';

const folder = fileURLToPath(new URL('.', import.meta.url));
// Go has its caches in the home directory, even if the environment does not name one.
const env = { HOME: homedir(), ...process.env };

/** Runs Go. Returns whether it succeeded. */
function go(...args) {
  const { status, error } = spawnSync('go', args, { cwd: folder, stdio: 'inherit', timeout: 1_200_000, env });
  if (error?.code === 'ENOENT') console.error('Go 1.25 or newer is needed, and there is no go on the path.');
  else if (error) console.error(`go ${args[0]}: ${error.message}`);
  return status === 0;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
// Build before the server starts: the first build takes minutes.
if (!go('vet', '.')) process.exit(1);
const server = await startServer();
env.SVC_GRPC = server.grpc;
const tls = await startTlsServer();
env.SVC_TLS_GRPC = tls.grpc;
env.SVC_TLS_FOLDER = tls.folder;
const given = process.argv.slice(2);
const temporary = mkdtempSync(join(tmpdir(), 'svc-go-'));
env.SVC_CLIENTS = join(temporary, 'clients.json');
let isGood = go('test', '-count=1', '-timeout=300s', ...given, '.');
await server.stop();
await tls.stop();
// Only a complete run sees every client.
if (isGood && given.length === 0) isGood = recordClients('go', JSON.parse(readFileSync(env.SVC_CLIENTS, 'utf8')));
rmSync(temporary, { recursive: true });
process.exit(isGood ? 0 : 1);
