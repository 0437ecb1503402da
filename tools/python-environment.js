// Python with packages of exact versions, for suites and benchmarks that need it.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CACHE = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));
const PYTHON = 'python3';
const OLDEST = [3, 11];

/** What is missing to run Python here, in a sentence for whoever runs it. */
export class SetUpError extends Error {}

function pythonVersion() {
  const { status, stdout } = spawnSync(PYTHON, ['-c', 'import sys; print(*sys.version_info[:3])'], {
    encoding: 'utf8',
  });
  const needed = `Python ${OLDEST.join('.')} or newer is needed`;
  if (status !== 0) throw new SetUpError(`${needed}: there is no ${PYTHON} here.`);
  const [major, minor, patch] = stdout.trim().split(' ').map(Number);
  const version = `${major}.${minor}.${patch}`;
  if (major < OLDEST[0] || minor < OLDEST[1]) throw new SetUpError(`${needed}; this is ${version}.`);
  return version;
}

function step(what, command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', timeout: 600_000 });
  if (status !== 0) throw new SetUpError(`${what} failed:\n${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`);
}

/** The folder of the programs of an environment with the packages of a requirements file: made once for each list. */
export function providePython(name, requirements) {
  const hash = createHash('sha256').update(pythonVersion()).update(readFileSync(requirements)).digest('hex');
  const environment = join(CACHE, `${name}-${hash.slice(0, 16)}`);
  const programs = join(environment, 'bin');
  const stamp = join(environment, 'complete');
  if (existsSync(stamp)) return programs;
  console.error(`Installing Python packages for ${name}; this happens once.`);
  rmSync(environment, { recursive: true, force: true });
  const venv = `Making a virtual environment (${PYTHON} -m venv; on Debian it is in the package python3-venv)`;
  step(venv, PYTHON, ['-m', 'venv', environment]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:'];
  step('Installing the Python packages', join(programs, 'python'), [...pip, '--requirement', requirements]);
  writeFileSync(stamp, '');
  return programs;
}
