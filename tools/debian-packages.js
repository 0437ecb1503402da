// Programs of Debian's packages, for suites: downloaded and unpacked into the cache, not installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CACHE = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));

/** Runs a command; fails with its output. */
function run(what, command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', timeout: 600_000 });
  if (status !== 0) throw new Error(`${what} failed:\n${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`);
  return stdout;
}

/** With these options, apt-get writes nothing outside of a folder. */
function aptOptions(folder, hasOwnLists) {
  const options = ['Debug::NoLocking=1', `Dir::Cache=${folder}`, `Dir::Cache::archives=${join(folder, 'archives')}`];
  if (hasOwnLists) options.push(`Dir::State::lists=${join(folder, 'lists')}`);
  return options.flatMap((option) => ['-o', option]);
}

/** Downloads packages and the rest of what they need; updates lists of its own if those of the system are old. */
function download(folder, names) {
  const args = ['install', '--yes', '--no-install-recommends', '--download-only', '--reinstall', ...names];
  if (spawnSync('apt-get', [...aptOptions(folder, false), ...args], { timeout: 600_000 }).status === 0) return;
  mkdirSync(join(folder, 'lists/partial'), { recursive: true });
  run('Listing the packages of Debian', 'apt-get', [...aptOptions(folder, true), 'update']);
  run(`Downloading ${names.join(', ')}`, 'apt-get', [...aptOptions(folder, true), ...args]);
}

/**
 * Returns a folder with the files of Debian's packages and of those they need, as below `/`. Packages of the system are
 * left out unless they are named. Made once per list of names.
 */
export function provideDebian(...names) {
  const hash = createHash('sha256').update(names.join(' ')).digest('hex').slice(0, 12);
  const folder = join(CACHE, `debian-${names[0]}-${hash}`);
  const root = join(folder, 'root');
  if (existsSync(join(folder, 'complete'))) return root;
  console.error(`Downloading ${names.join(', ')} from Debian; this happens once.`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'archives/partial'), { recursive: true });
  mkdirSync(root);
  download(folder, names);
  const archives = readdirSync(join(folder, 'archives')).filter((name) => name.endsWith('.deb'));
  for (const archive of archives) run(`Unpacking ${archive}`, 'dpkg', ['-x', join(folder, 'archives', archive), root]);
  rmSync(join(folder, 'archives'), { recursive: true });
  writeFileSync(join(folder, 'complete'), '');
  return root;
}

/** The environment for a program of such a folder: its programs and libraries come first. */
export function debianEnvironment(root) {
  const libraries = ['x86_64', 'aarch64'].flatMap((machine) => [
    `usr/lib/${machine}-linux-gnu`,
    // Libraries of their own, found by an absolute path.
    `usr/lib/${machine}-linux-gnu/pulseaudio`,
    `lib/${machine}-linux-gnu`,
  ]);
  const programs = ['usr/sbin', 'usr/bin', 'sbin', 'bin'];
  const below = (folders) => folders.map((folder) => join(root, folder)).filter((path) => existsSync(path));
  return {
    ...process.env,
    PATH: [...below(programs), process.env.PATH].join(':'),
    LD_LIBRARY_PATH: below(libraries).join(':'),
  };
}
