// Copies the program into a folder, for a container or /opt: the bundle of svc, with the server in it, and DuckDB. Run
// it after the build: node tools/assemble.js <folder>
import { chmodSync, cpSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const target = process.argv[2];
if (target === undefined) throw new Error('Name the folder to copy to.');

mkdirSync(join(target, 'node_modules/@duckdb'), { recursive: true });
for (const name of ['bin', 'bundle', 'package.json']) {
  cpSync(join(root, 'apps/cli', name), join(target, name), { recursive: true });
}
cpSync(join(root, 'LICENSE'), join(target, 'LICENSE'));

// pnpm keeps the package with the library of this platform next to the package that loads it.
const bindings = realpathSync(join(root, 'apps/cli/node_modules/@duckdb/node-bindings'));
for (const name of readdirSync(dirname(bindings))) {
  const to = join(target, 'node_modules/@duckdb', name);
  cpSync(realpathSync(join(dirname(bindings), name)), to, { recursive: true, dereference: true });
}
chmodSync(join(target, 'bin/svc.js'), 0o755);
