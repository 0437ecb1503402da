// Runs Flight SQL clients of npm against a real server, unmodified, and records what works.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startServer } from '../../tools/server-process.js';
import { startTlsServer } from '../../tools/tls-server.js';
import { recordClients } from '../record-clients.js';

const VERSIONS = { '@gizmodata/gizmosql-client': '1.4.3', '@lakehouse-rs/flight-sql-client': '0.0.10' };

/** Installs the clients once, apart from the packages of the project. Returns their folder. */
function provideClients() {
  const packages = Object.entries(VERSIONS).map(([name, version]) => `${name}@${version}`);
  const name = `interop-node-${Object.values(VERSIONS).join('-')}`;
  const folder = fileURLToPath(new URL(`../../node_modules/.cache/${name}`, import.meta.url));
  const stamp = join(folder, 'complete');
  if (existsSync(stamp)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  const args = ['install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts', ...packages];
  const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`Installing ${packages.join(' and ')} failed:\n${stderr}`);
  writeFileSync(stamp, '');
  return folder;
}

function runNode(args, options = {}) {
  const env = { ...process.env, ...options.env };
  return spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 300_000, ...options, env });
}

/** Runs the program of the clients, and compares what it shows with the record. */
function runClients(folder, grpc) {
  const program = fileURLToPath(new URL('clients.mjs', import.meta.url));
  const { status, stdout, stderr } = runNode([program, folder, grpc]);
  if (status !== 0) {
    console.error(`The clients failed:\n${stdout}${stderr}`);
    return false;
  }
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const rows = Object.entries(VERSIONS).map(([name, version]) => {
    const seen = (kind) => lines.filter((line) => line.client === name && line.kind === kind).map(({ what }) => what);
    return { client: `Node \`${name}\``, version, through: '', works: seen('works'), lacks: seen('lacks') };
  });
  return recordClients('node', rows);
}

/** Runs the program of docs/clients.md, as it is but for the port, with TLS and a token. */
function runExample(folder, { grpc, folder: authority, token }) {
  const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
  const { program, shown } = /^```js\n(?<program>.*?)^```\n\n^```text\n(?<shown>.*?)^```$/ms.exec(page).groups;
  const file = join(folder, 'example.mjs');
  writeFileSync(file, program.replace(/\b50052\b/, grpc.split(':').at(-1)));
  const env = { SVC_TOKEN: token, GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: join(authority, 'ca.pem') };
  const { status, stdout, stderr } = runNode([file], { cwd: folder, env });
  const isRight = status === 0 && stdout === shown;
  if (!isRight) console.error(`The program of the page should print:\n${shown}\nPrinted:\n${stdout}${stderr}`);
  return isRight;
}

const folder = provideClients();
const server = await startServer();
const isRecorded = runClients(folder, server.grpc);
await server.stop();
const tls = await startTlsServer();
const isExampleRight = runExample(folder, tls);
await tls.stop();
if (isRecorded && isExampleRight) console.error('The Node clients work as recorded.');
process.exit(isRecorded && isExampleRight ? 0 : 1);
