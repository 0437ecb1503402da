// Suites of one client for Python, in an environment of its own: a program that shows what works, and that of docs/clients.md.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MissingPython, SetUpError } from '../tools/python-environment.js';
import { startServer } from '../tools/server-process.js';
import { startTlsServer } from '../tools/tls-server.js';
import { recordClients, seenIn } from './record-clients.js';

/**
 * Runs `clients.py` of a suite and compares what it shows with the record; then the program of docs/clients.md in the block
 * `python <suite>`, with TLS and a token. `row`: the name and the versions of the client. `args`: what `clients.py` gets after the
 * address of the server. `prepare` puts into a folder what both need there. Returns whether all is as expected.
 */
export async function runPythonClient(suite, { python, row, args = [], env = {}, prepare = () => undefined }) {
  const run = (programArgs, folder, more = {}) => {
    prepare(folder);
    const options = { cwd: folder, encoding: 'utf8', timeout: 600_000, env: { ...process.env, ...env, ...more } };
    return spawnSync(python, programArgs, options);
  };
  const server = await startServer();
  const folder = mkdtempSync(join(tmpdir(), 'svc-client-'));
  const program = fileURLToPath(new URL(`${suite}/clients.py`, import.meta.url));
  const steps = { PYTHONPATH: fileURLToPath(new URL('.', import.meta.url)), PYTHONDONTWRITEBYTECODE: '1' };
  const isRecorded = isAsRecorded(suite, row, run([program, server.grpc, ...args], folder, steps));
  rmSync(folder, { recursive: true });
  await server.stop();
  const tls = await startTlsServer();
  const example = readExample(suite);
  writeFileSync(join(tls.folder, 'example.py'), example.program.replace(/\b50052\b/, tls.grpc.split(':').at(-1)));
  const isExampleRight = isAsShown(example.shown, run(['example.py'], tls.folder, { SVC_TOKEN: tls.token }));
  await tls.stop();
  if (isRecorded && isExampleRight) console.error(`${row.client} works as recorded.`);
  return isRecorded && isExampleRight;
}

/**
 * Runs a suite, and ends the process with its result. `isOptional`: without the Python that it needs, which is not that of the
 * other suites, it is skipped.
 */
export async function exitWith(runSuite, { isOptional = false } = {}) {
  try {
    process.exit((await runSuite()) ? 0 : 1);
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    const isSkipped = isOptional && error instanceof MissingPython;
    console.error(isSkipped ? `${error.message} The suite is skipped.` : error.message);
    process.exit(isSkipped ? 0 : 1);
  }
}

/** Returns the version of a package in a file of requirements. */
export function requiredVersion(file, name) {
  return new RegExp(`^${name}==(?<version>\\S+)$`, 'm').exec(readFileSync(file, 'utf8')).groups.version;
}

function isAsRecorded(suite, row, { status, stdout, stderr }) {
  if (status !== 0) {
    console.error(`${row.client} failed:\n${stdout}${stderr}`);
    return false;
  }
  return recordClients(suite, [{ ...row, ...seenIn(stdout) }]);
}

function readExample(suite) {
  const page = readFileSync(new URL('../docs/clients.md', import.meta.url), 'utf8');
  const shape = new RegExp(
    `^\`\`\`python ${suite}\n(?<program>.*?)^\`\`\`\n\n^\`\`\`text\n(?<shown>.*?)^\`\`\`$`,
    'ms',
  );
  return shape.exec(page).groups;
}

function isAsShown(shown, { status, stdout, stderr }) {
  const isRight = status === 0 && stdout === shown;
  if (!isRight) console.error(`The program of the page should print:\n${shown}\nPrinted:\n${stdout}${stderr}`);
  return isRight;
}
