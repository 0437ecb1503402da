// Python with packages of exact versions, for suites and benchmarks.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CACHE = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));
const OLDEST = [3, 11];
/** Names on the path, and the versions of pyenv. */
const NAMES = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11'];
/** Where pyenv may be. Its programs on the path need the home directory it was installed in. */
const PYENV_ROOTS = [
  process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'),
  ...(process.env.PATH ?? '')
    .split(delimiter)
    .flatMap((folder) => (basename(folder) === 'shims' ? [dirname(folder)] : [])),
];

/** Describes in a sentence what is missing to run Python here. */
export class SetUpError extends Error {}

/** There is no suitable Python. */
export class MissingPython extends SetUpError {}

/** Returns the first Python of at least this version, and older than `before`, and its version. */
function findPython(oldest, before) {
  const others = [];
  for (const command of [...NAMES, ...ofPyenv()]) {
    const version = versionOf(command);
    if (version === undefined) continue;
    if (isAtLeast(version, oldest) && !isAtLeast(version, before)) return { command, version: version.join('.') };
    others.push(version.join('.'));
  }
  const instead = others.length === 0 ? 'there is none here' : `here is ${others.join(', ')}`;
  const limit = before[0] === Infinity ? '' : `, and older than ${before.join('.')},`;
  throw new MissingPython(`Python ${oldest.join('.')} or newer${limit} is needed: ${instead}.`);
}

function ofPyenv() {
  const folders = PYENV_ROOTS.map((root) => join(root, 'versions')).filter((folder) => existsSync(folder));
  return folders.flatMap((folder) => readdirSync(folder).map((version) => join(folder, version, 'bin', 'python3')));
}

function versionOf(command) {
  const { status, stdout } = spawnSync(command, ['-c', 'import sys; print(*sys.version_info[:3])'], {
    encoding: 'utf8',
    timeout: 10_000,
  });
  return status === 0 ? stdout.trim().split(' ').map(Number) : undefined;
}

function isAtLeast([major, minor], [oldestMajor, oldestMinor]) {
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

function step(what, command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', timeout: 600_000 });
  if (status !== 0) throw new SetUpError(`${what} failed:\n${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`);
}

/**
 * Returns the bin folder of an environment with the packages of a requirements file; created once per list. `oldest` is
 * the oldest suitable Python, and `before` is too new.
 */
export function providePython(name, requirements, oldest = OLDEST, before = [Infinity, 0]) {
  const { command, version } = findPython(oldest, before);
  const hash = createHash('sha256').update(version).update(readFileSync(requirements)).digest('hex');
  const environment = join(CACHE, `${name}-${hash.slice(0, 16)}`);
  const programs = join(environment, 'bin');
  const stamp = join(environment, 'complete');
  if (existsSync(stamp)) return programs;
  console.error(`Installing Python packages for ${name}; this happens once.`);
  rmSync(environment, { recursive: true, force: true });
  const venv = `Making a virtual environment (${command} -m venv; on Debian it is in the package python3-venv)`;
  step(venv, command, ['-m', 'venv', environment]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:'];
  step('Installing the Python packages', join(programs, 'python'), [...pip, '--requirement', requirements]);
  writeFileSync(stamp, '');
  return programs;
}
