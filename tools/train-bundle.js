// Writes the V8 code caches of the server's bundle with the functions that a server calls at its start and for its first
// rows. A cache of all functions takes 1.6 times as long to load; those that it lacks are compiled when they are called.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startServer } from './server-process.js';

const RECORDER = fileURLToPath(new URL('record-code.cjs', import.meta.url));
const { codeFileOf, compile } = createRequire(import.meta.url)('./load-bundle.cjs');
const ROWS = Array.from({ length: 5000 }, (_, i) => `${i},name ${i % 10},${i / 4},2026-01-01T00:00:00.000Z`);
const CSV = ['id,name,price,at', ...ROWS].join('\n');
const READ = '/exec?handle=training&fmt=json&limit=1000';
const TIMEOUT_MS = 30_000;

/** Replaces the code caches of the bundle in this folder. */
export async function trainBundle(bundle) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-training-'));
  // Also if the build is interrupted.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['server', 'child']) mkdirSync(join(folder, 'code', name), { recursive: true });
  await record(folder, AbortSignal.timeout(TIMEOUT_MS));
  for (const [name, code] of codesIn(folder)) {
    const file = join(bundle, name);
    if (compile(file, code).cachedDataRejected === false) writeFileSync(codeFileOf(file), code);
  }
}

/** Runs a server on a frame that an earlier one has written: such a frame is not in memory. */
async function record(folder, signal) {
  const args = ['--data-dir', join(folder, 'data')];
  const put = { method: 'PUT', body: CSV, headers: { 'content-type': 'text/csv' }, signal };
  // What a server leaves behind if it is killed is in the folder, too.
  const env = { TMPDIR: folder };
  await withServer(args, { env, signal }, (url) => request(`${url}/frames/training`, put));
  const recording = { NODE_OPTIONS: `--require ${JSON.stringify(RECORDER)}`, SVC_CODE_DIRECTORY: join(folder, 'code') };
  await withServer(args, { env: { ...env, ...recording }, signal }, (url) => request(`${url}${READ}`, { signal }));
}

async function withServer(args, options, use) {
  const server = await startServer(args, options);
  try {
    await use(server.url);
  } finally {
    await server.stop();
  }
}

async function request(url, init) {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
}

/** The caches that only one process wrote: a file that both load needs the functions of both. */
function codesIn(folder) {
  const [server, child] = ['server', 'child'].map((name) => join(folder, 'code', name));
  const [ofServer, ofChild] = [readdirSync(server), readdirSync(child)];
  const only = (own, names, others) =>
    names.filter((name) => !others.includes(name)).map((name) => [name, readFileSync(join(own, name))]);
  return [...only(server, ofServer, ofChild), ...only(child, ofChild, ofServer)];
}
