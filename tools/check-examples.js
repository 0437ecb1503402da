// Runs each example in an empty project with only the tarballs of its imports, and sends the same requests to all: on
// every host, the API must respond the same, stream both ways, and leave other routes to the host.
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEmptyProject } from './empty-project.js';
import { freePorts } from './free-ports.js';
import { pack, packageFolders, root, temporaryDirectory } from './pack.js';

const examples = join(root, 'examples');
const directory = temporaryDirectory();

/** Returns the dependencies of the examples, with the tarballs of our packages and of their dependencies. */
function dependencies() {
  const { dependencies: asked } = JSON.parse(readFileSync(join(examples, 'package.json'), 'utf8'));
  const folders = new Map(
    packageFolders().map((folder) => [JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).name, folder]),
  );
  const tarballs = new Map();
  const add = (name) => {
    if (!folders.has(name) || tarballs.has(name)) return;
    const { tarball, manifest } = pack(folders.get(name), directory);
    tarballs.set(name, tarball);
    for (const needed of Object.keys(manifest.dependencies ?? {})) add(needed);
  };
  for (const name of Object.keys(asked)) add(name);
  const others = Object.entries(asked).filter(([name]) => !tarballs.has(name));
  return [...tarballs.values(), ...others.map(([name, version]) => `${name}@${version}`)];
}

function checkNothingElseIsInstalled(project) {
  const unwanted = project
    .installedNames()
    .filter((name) => /duckdb|preact|codemirror|^@svc\/(server|cli|grpc|config|proto)$/.test(name));
  assert.deepEqual(unwanted, [], 'An app that mounts the API must not install these.');
}

const put = (url, handle, rows) =>
  fetch(`${url}/frames/${handle}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(rows),
  });

async function checkAnswers(host, url) {
  assert.equal((await put(url, 't', [{ id: 1, name: 'a' }, { id: 2 }])).status, 201);
  const table = await fetch(`${url}/exec?handle=t&fmt=json&cols=id,name`);
  assert.deepEqual((await table.json()).dataset, [
    [1, 'a'],
    [2, null],
  ]);
  const csv = await fetch(`${url}/exp?handle=t&fmt=csv`);
  assert.equal(await csv.text(), 'id,name\r\n1,a\r\n2,\r\n');
  const missing = await fetch(`${url}/exec?handle=nope&fmt=json`, { headers: { 'x-request-id': 'r-1' } });
  assert.equal(missing.status, 404);
  const body = await missing.json();
  assert.deepEqual([body.code, body.requestId], ['handle_not_found', 'r-1']);
  const wrongMethod = await fetch(`${url}/ping`, { method: 'DELETE' });
  assert.deepEqual([wrongMethod.status, wrongMethod.headers.get('allow')], [405, 'GET, HEAD']);
  for (const unknown of [`${host}/nope`, `${url}/nope`]) {
    const answer = await fetch(unknown, { method: 'POST', body: 'x' });
    assert.equal(answer.status, 404, `${unknown} is not answered with 404`);
    assert(!answer.headers.has('x-request-id'), `${unknown} is answered by the API instead of the host`);
  }
}

const storedBytes = async (url) => (await (await fetch(`${url}/health`)).json()).parts.store.bytes;

async function waitUntil(fact, isSo) {
  for (const end = Date.now() + 5000; Date.now() < end; await sleep(20)) if (await isSo()) return;
  assert.fail(`Not within 5 s: ${fact}.`);
}

/** A reader retains a dropped frame until it finishes or disconnects. */
async function checkLeavingReader(url) {
  const rows = Array.from({ length: 32 }, (_, id) => ({ id, text: 'x'.repeat(1024 * 1024) }));
  assert.equal((await put(url, 'large', rows)).status, 201);
  const [answer] = await once(get(`${url}/exp?handle=large&fmt=ndjson`), 'response');
  await once(answer, 'readable');
  await fetch(`${url}/frames/large`, { method: 'DELETE' });
  assert((await storedBytes(url)) > 16 * 1024 * 1024, 'An answer of 32 MiB is not streamed: it was made at once.');
  answer.destroy();
  await waitUntil('the request of a client that left has ended', async () => (await storedBytes(url)) < 1024 * 1024);
}

/** An upload is streamed, and an interrupted one leaves nothing behind. */
async function checkLeavingWriter(url) {
  const headers = { 'content-type': 'application/json' };
  const upload = request(`${url}/frames/half`, { method: 'PUT', headers }).on('error', () => {});
  await new Promise((resolve) => upload.write('[{"id":1},', resolve));
  await new Promise((resolve) => upload.on('close', resolve).destroy());
  assert.equal((await fetch(`${url}/frames/half`)).status, 404);
}

/** An app with its own users: each sees the frames of its team. */
async function checkUsers(url) {
  const ask = (session, path, init = {}) =>
    fetch(`${url}${path}`, { ...init, headers: { ...init.headers, cookie: `session=${session}` } });
  const rows = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '[{"id":1}]' };
  const statuses = [];
  for (const session of ['s-bob', 's-ada', 'none']) statuses.push((await ask(session, '/frames/t', rows)).status);
  for (const session of ['s-ada', 's-bob', 's-eve', 'none']) statuses.push((await ask(session, '/frames/t')).status);
  assert.deepEqual(statuses, [403, 201, 401, 200, 200, 404, 401]);
}

/** An app with frames of its own: they are read like all others, and refuse writes. */
async function checkOwnFrames(url) {
  const list = await (await fetch(`${url}/frames`)).json();
  assert.deepEqual(
    list.frames.map(({ handle, rows }) => [handle, rows]),
    [
      ['orders', 1],
      ['processes', 1],
    ],
  );
  const csv = await fetch(`${url}/exp?handle=orders&fmt=csv&cols=customer,total`);
  assert.equal(await csv.text(), 'customer,total\r\nAda,9.5\r\n');
  assert.equal((await fetch(`${url}/frames/nope`)).status, 404);
  for (const answer of [
    await put(url, 'orders', [{ id: 2 }]),
    await fetch(`${url}/frames/orders`, { method: 'DELETE' }),
  ]) {
    assert.deepEqual([answer.status, (await answer.json()).code], [403, 'permission_denied']);
  }
}

/** Examples with another store, or with callers. */
const CHECKS = { 'embed-users.js': checkUsers, 'embed-own-frames.js': checkOwnFrames };

/** The console is for browsers alone, and finds its files below its path. */
async function checkConsole(url) {
  const headers = { accept: 'text/html' };
  const moved = await fetch(url, { headers, redirect: 'manual' });
  assert.deepEqual([moved.status, new URL(moved.headers.get('location'), url).href], [308, `${url}/`]);
  const page = await fetch(`${url}/`, { headers });
  assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  const addresses = [...(await page.text()).matchAll(/ (?:src|href)="([^"]+)"/g)].map(([, address]) => address);
  assert(addresses.length >= 2, 'The page of the console names no files.');
  for (const address of addresses) assert.equal((await fetch(new URL(address, `${url}/`))).status, 200, address);
  assert.equal((await fetch(`${url}/`)).status, 404, 'The console is sent to a client that is no browser.');
}

/** What docs/embedding.md says about the console, in each example: one import, and one line before `notFound`. */
const CONSOLES = {
  'embed-hono.js': "app.route('/data', createConsoleApp());",
  'embed-express.js': "exec.route('/', createConsoleApp());",
  'embed-node-http.js': "app.route('/data', createConsoleApp());",
};

/** Writes an example with the console into the project; returns its name. */
function writeWithConsole(project, file, line) {
  assert(readFileSync(join(root, 'docs/embedding.md'), 'utf8').includes(line), `docs/embedding.md has no line ${line}`);
  const text = readFileSync(join(examples, file), 'utf8').replace(/^(?=\w+\.notFound\()/m, `${line}\n`);
  const name = `console-${file}`;
  writeFileSync(join(project.directory, name), `import { createConsoleApp } from '@svc/console';\n${text}`);
  return name;
}

/** A parser in front of the API is a mistake of the host: its cause is printed once, whatever the length of the body. */
async function checkReadBody(project) {
  const text = readFileSync(join(examples, 'embed-express.js'), 'utf8');
  const file = 'parsed-embed-express.js';
  writeFileSync(join(project.directory, file), text.replace('express()', 'express().use(express.json())'));
  const [port] = await freePorts(1);
  const example = await project.start(process.execPath, [file], { ready: /^listening/m, env: { PORT: String(port) } });
  try {
    for (const length of [1, 25_000]) {
      const rows = Array.from({ length }, () => ({}));
      assert.equal((await put(`http://127.0.0.1:${port}/data`, 't', rows)).status, 500);
    }
    const printed = () => example.output().match(/Mount the API before middleware that reads bodies/g)?.length;
    await waitUntil('the cause is on stderr', () => printed() !== undefined);
    assert.equal(printed(), 1, `It printed:\n${example.output()}`);
  } finally {
    await example.stop();
  }
}

async function checkHost(host) {
  await checkAnswers(host, `${host}/data`);
  await checkLeavingReader(`${host}/data`);
  await checkLeavingWriter(`${host}/data`);
}

async function checkExample(project, file) {
  copyFileSync(join(examples, file), join(project.directory, file));
  await runExample(project, file, (host) => (CHECKS[file] ? CHECKS[file](`${host}/data`) : checkHost(host)));
  const line = CONSOLES[file];
  if (line === undefined) return;
  await runExample(project, writeWithConsole(project, file, line), async (host) => {
    await checkConsole(`${host}/data`);
    await checkAnswers(host, `${host}/data`);
  });
}

async function runExample(project, file, check) {
  const [port] = await freePorts(1);
  const host = `http://127.0.0.1:${port}`;
  const env = { PORT: String(port) };
  const example = await project.start(process.execPath, [file], { ready: /^listening/m, env });
  try {
    await check(host);
    // A stack, or a warning of Node, would be indented or in parentheses.
    assert.doesNotMatch(example.output(), /^[\s(]/m, `It printed something else:\n${example.output()}`);
    const [, observed] = /^GET \/exec 404 (\w+)/m.exec(example.output()) ?? [];
    if (file === 'embed-observed.js') assert.equal(observed, 'handle_not_found', 'It did not observe the failure.');
  } finally {
    const ended = await example.stop();
    const expected = file === 'embed-observed.js' ? 0 : 'SIGTERM';
    assert.equal(ended, expected, `It did not end as it should:\n${example.output()}`);
  }
}

const files = readdirSync(examples).filter((name) => name.endsWith('.js'));
try {
  const project = createEmptyProject(directory, process.execPath);
  project.install(dependencies());
  checkNothingElseIsInstalled(project);
  await checkReadBody(project);
  for (const file of files) {
    await checkExample(project, file).catch((error) => {
      throw new Error(`examples/${file}: ${error.message}`, { cause: error });
    });
  }
  console.log(`${files.length} examples run on the packed packages alone.`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
