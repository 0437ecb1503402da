// Makes a checkout ready: installs with the pinned pnpm when the lockfile has changed, then compiles and bundles what is
// out of date. With --binaries it makes only the binaries, which needs neither the compiler nor the tools for tests and
// checks: those are the dependencies of the root, everything else those of the packages. Plain JavaScript on Node's own
// modules: it runs before anything is installed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const lockFile = `${root}node_modules/.build-lock`;
const stampFile = `${root}node_modules/.build-stamp`;
const { packageManager: pinned, engines } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
// Corepack checks the hash after the version. npx does not take it: npm checks what the registry says.
const [packageManager] = pinned.split('+', 1);
const isWindows = process.platform === 'win32';
const isOnlyBinaries = process.argv.includes('--binaries');

let running;

// A separate process group: npx, its shell and pnpm are three processes, and a signal to the first ends only the first.
function run(command, args) {
  return new Promise((resolve) => {
    running = spawn(command, args, {
      cwd: root,
      // Nothing of this on stdout: it belongs to the program that runs next.
      stdio: ['ignore', 2, 2],
      // pnpm asks no questions if CI is set, and does not start if HOME is empty.
      env: { ...process.env, HOME: process.env.HOME || undefined, CI: 'true', npm_config_update_notifier: 'false' },
      detached: !isWindows,
      shell: isWindows,
    });
    running.on('error', (error) => resolve(error.message));
    running.on('exit', (code, signal) => resolve(signal ?? code));
  });
}

function stop(signal) {
  const exit = () => process.exit(128 + constants.signals[signal]);
  if (running?.pid === undefined || running.exitCode !== null || running.signalCode !== null) exit();
  running.removeAllListeners('exit').on('exit', exit);
  if (isWindows) running.kill();
  else process.kill(-running.pid, signal);
}

function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}

// Two commands started at once in one checkout must not install or compile over each other. The holder touches the file
// every second, so that the lock of a killed process is recognised by its age.
async function lock() {
  mkdirSync(`${root}node_modules`, { recursive: true });
  for (let waits = 0; ; waits += 1) {
    try {
      writeFileSync(lockFile, '', { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const touched = statSync(lockFile, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - touched > 5000) rmSync(lockFile, { force: true });
    else await sleep(100);
    if (waits === 10) console.error('Waiting for another command that is preparing this checkout.');
  }
  process.on('exit', () => rmSync(lockFile, { force: true }));
  setInterval(() => {
    const now = new Date();
    if (existsSync(lockFile)) utimesSync(lockFile, now, now);
  }, 1000).unref();
}

/** What was installed last: the state of the lockfile, and if the tools of the root are there too. */
function readInstalled() {
  const [state, extent] = existsSync(stampFile) ? readFileSync(stampFile, 'utf8').split(' ') : [];
  return { state, hasTools: extent === 'all' };
}

async function install() {
  const hash = createHash('sha256').update(`${process.version} ${process.platform} ${process.arch}`);
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) hash.update(readFileSync(`${root}${file}`));
  const state = hash.digest('hex');
  const installed = readInstalled();
  if (installed.state === state && (isOnlyBinaries || installed.hasTools)) return;
  // Tools stay there, in the versions of the lockfile.
  const withTools = !isOnlyBinaries || installed.hasTools;
  console.error(`Installing ${withTools ? 'all dependencies' : 'what the server needs'}; this happens once.`);
  // An interrupted install is repeated.
  rmSync(stampFile, { force: true });
  const args = ['-y', '--prefer-offline', packageManager, 'install', '--frozen-lockfile', '--prefer-offline'];
  const result = await run('npx', withTools ? args : [...args, '--prod']);
  if (result !== 0) fail(`The dependencies could not be installed: ${packageManager} ended with ${result}; see above.`);
  writeFileSync(stampFile, `${state} ${withTools ? 'all' : 'binaries'}`);
}

async function compile() {
  const result = await run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-b']);
  if (result !== 0) fail(`The source does not compile: tsc ended with ${result}; see above.`);
}

async function bundle() {
  const result = await run(process.execPath, [`${root}tools/bundle.js`]);
  if (result !== 0) fail(`The binaries cannot be bundled: tools/bundle.js ended with ${result}; see above.`);
}

const [neededMajor, neededMinor] = engines.node.match(/\d+/g).map(Number);
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < neededMajor || (major === neededMajor && minor < neededMinor)) {
  fail(`Node ${engines.node} is needed; this is ${process.version}.`);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, stop);
// A shell between npm and this process exits on a signal without forwarding it.
const parent = process.ppid;
setInterval(() => process.ppid === parent || stop('SIGTERM'), 250).unref();

try {
  await lock();
  await install();
  if (!isOnlyBinaries) await compile();
  await bundle();
} catch (error) {
  fail(`This checkout could not be prepared: ${error.message}`);
}
