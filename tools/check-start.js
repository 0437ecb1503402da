// Starts from a fresh copy of this checkout, as a user would: the first start installs only what the binaries need, a
// test run adds the tools, and neither takes away what the other needs, even if it is interrupted.
import { strict as assert } from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root, temporaryDirectory } from './pack.js';

/** Development tools: a start must not install them. */
const TOOLS = ['typescript', 'vitest', 'prettier', 'turbo'];
/** What a first start may take on the disk. It is 130 MB on Linux. */
const MAX_MEGABYTES = 200;
/** What a checkout makes itself. */
const MADE = new Set(['.git', 'node_modules', 'dist', 'bundle', '.turbo', '.tsbuildinfo']);

const copy = join(temporaryDirectory(), 'copy');
cpSync(root, copy, { recursive: true, filter: (path) => !MADE.has(basename(path)) });

function build(...flags) {
  const started = performance.now();
  const { status, stderr } = spawnSync(process.execPath, ['tools/build.js', ...flags], { cwd: copy, encoding: 'utf8' });
  assert.equal(status, 0, `tools/build.js ${flags.join(' ')} failed:\n${stderr}`);
  return Math.round((performance.now() - started) / 1000);
}

/** Starts to install everything, and interrupts it once packages are being linked. */
async function interruptBuild() {
  const child = spawn(process.execPath, ['tools/build.js'], { cwd: copy, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    if (!output.includes('Packages: +') && `${output}${text}`.includes('Packages: +')) child.kill('SIGINT');
    output += text;
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 130, `An interrupted build ended with ${code}:\n${output}`);
}

function checkBinaries() {
  for (const binary of ['apps/server/bin/server.js', 'apps/cli/bin/svc.js']) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [binary, '--version'], {
      cwd: copy,
      encoding: 'utf8',
    });
    assert(status === 0 && /\d+\.\d+\.\d+/.test(stdout), `${binary} does not run:\n${stderr}`);
  }
}

const hasTool = (name) => existsSync(join(copy, 'node_modules', name));

/** The size of the files in a directory, not of what it links to. */
function bytesIn(directory) {
  return readdirSync(directory, { withFileTypes: true })
    .map((entry) => {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) return bytesIn(path);
      return entry.isFile() ? statSync(path).size : 0;
    })
    .reduce((sum, bytes) => sum + bytes, 0);
}

const installedMegabytes = () => Math.round(bytesIn(join(copy, 'node_modules')) / 1e6);

try {
  const seconds = build('--binaries');
  checkBinaries();
  const size = installedMegabytes();
  assert.deepEqual(TOOLS.filter(hasTool), [], 'A start installs development tools.');
  assert(size <= MAX_MEGABYTES, `A start installs ${size} MB, more than ${MAX_MEGABYTES} MB.`);
  await interruptBuild();
  build('--binaries');
  checkBinaries();
  const secondsOfAll = build();
  build('--binaries');
  assert.deepEqual(TOOLS.filter(hasTool), TOOLS, 'A start takes development tools away.');
  checkBinaries();
  const sizeOfAll = installedMegabytes();
  console.log(
    `A first start installs ${size} MB and builds in ${seconds} s; with tools it is ${sizeOfAll} MB, in ${secondsOfAll} s more.`,
  );
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
