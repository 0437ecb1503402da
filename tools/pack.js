// The package as a user gets it: packed as for publishing, and unpacked again to look inside.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** A private directory, removed with the process. */
export function temporaryDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'svc-pack-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The folders of all published packages of the workspace, or of a copy of it. */
export function packageFolders(base = root) {
  const parents = ['packages', 'apps'].map((parent) => join(base, parent));
  const folders = parents.flatMap((parent) => readdirSync(parent).map((name) => join(parent, name)));
  return [...folders, join(base, 'proto')].filter((folder) => !isPrivate(folder));
}

function isPrivate(folder) {
  const { private: own = false } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return own;
}

/** Packs one package folder with pnpm. It replaces `workspace:` and `catalog:` and adds the licence. */
export function pack(folder, destination) {
  const pnpm = join(root, 'node_modules/pnpm/bin/pnpm.cjs');
  const args = [pnpm, 'pack', '--json', '--pack-destination', destination];
  const { filename } = JSON.parse(execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }));
  execFileSync('tar', ['-xzf', filename, '-C', destination]);
  const unpacked = join(destination, 'package');
  const manifest = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8'));
  const files = readdirSync(unpacked, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(unpacked, join(entry.parentPath, entry.name)).replaceAll(sep, '/'));
  rmSync(unpacked, { recursive: true });
  return { tarball: filename, bytes: statSync(filename).size, manifest, files };
}
