// Installs the packed client with Bun and Deno into an empty project, and runs the same session in Node, Bun and Deno against a
// real server.
import { strict as assert } from 'node:assert';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEmptyProject } from '../../tools/empty-project.js';
import { pack, root, temporaryDirectory } from '../../tools/pack.js';
import { startServer } from '../../tools/server-process.js';

const VERSIONS = { bun: '1.4.4', deno: '2.9.6' };
const SESSION = 'session.mjs';

const tested = `Bun ${VERSIONS.bun} and Deno ${VERSIONS.deno}`;
const page = readFileSync(join(root, 'docs/clients.md'), 'utf8');
assert(page.includes(tested), `docs/clients.md does not say that the client is tested with ${tested}.`);

const directory = temporaryDirectory();
const [client, errors] = ['client', 'errors'].map((name) => pack(join(root, 'packages', name), directory));
const project = createEmptyProject(directory, process.execPath);
const runtimes = Object.entries(VERSIONS).map(([name, version]) => `${name}@${version}`);
const arrow = `apache-arrow@${client.manifest.peerDependencies['apache-arrow']}`;
project.install([client.tarball, errors.tarball, arrow, ...runtimes]);
copyFileSync(fileURLToPath(new URL(SESSION, import.meta.url)), join(project.directory, SESSION));

// Deno downloads nothing and may only connect to the server: the client needs no other permission.
const deno = ['run', '--quiet', '--no-prompt', '--no-lock', '--no-remote', '--cached-only', '--allow-net=127.0.0.1'];
const commands = [
  { name: 'Node', program: process.execPath, args: [] },
  { name: 'Bun', program: project.binary('bun'), args: ['run'] },
  { name: 'Deno', program: project.binary('deno'), args: deno },
];
for (const { name, program, args } of commands) {
  // Each runtime gets an empty server.
  const server = await startServer();
  const environment = { DENO_DIR: join(directory, 'deno'), DENO_NO_UPDATE_CHECK: '1' };
  const { ok, output } = project.run(program, [...args, SESSION, server.url], environment);
  await server.stop();
  console.error(ok ? output : `The client fails in ${name}:\n${output}`);
  if (!ok) process.exitCode = 1;
}
process.exit();
