// The cost of authentication: a small read of a frame, by handle, over 16 connections, with a token, with a JWT, and
// without authentication, in CPU time of the server. Two more sides send the same to a server that ignores it: what the
// longer request costs by itself.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../tools/server-process.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { load } from './load.js';
import { median } from './measure.js';

/** Processes of each side: the same program may be compiled to faster or slower code. */
const GENERATIONS = 6;
const ROUNDS = 10;
const WARM_UP = 4;
const LOAD = { connections: 16, seconds: 0.4 };
const ISSUER = 'https://login.example.com/';

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-auth-'));
const fileOf = (name, text) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

/** A token, and the environment of its server. */
function tokenSide() {
  const secret = randomBytes(32).toString('base64url');
  const hash = createHash('sha256').update(secret).digest('hex');
  const row = `[[token]]\nid = "t-bench1"\nhash = "sha256:${hash}"\ntenant = "default"\npermissions = ["read", "write"]\n`;
  return { env: { SERVICE_AUTH_CALLERS_FILE: fileOf('callers.toml', row) }, secret: `svc_t-bench1_${secret}` };
}

/** A JWT, and the environment of its server. */
function jwtSide() {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'k' }];
  const exp = Math.floor(Date.now() / 1000) + 86_400;
  const claims = { iss: ISSUER, aud: 'svc', sub: 'bench', tenant: 'default', permissions: ['read', 'write'], exp };
  const head = [{ alg: 'RS256', kid: 'k' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = sign('sha256', Buffer.from(head.join('.')), privateKey).toString('base64url');
  const env = {
    SERVICE_AUTH_JWKS: fileOf('jwks.json', JSON.stringify({ keys })),
    SERVICE_AUTH_JWT_ISSUER: ISSUER,
    SERVICE_AUTH_JWT_AUDIENCE: 'svc',
  };
  return { env, secret: [...head, signature].join('.') };
}

/** The CPU time of all threads of a process, in microseconds. */
function cpuOf(pid) {
  const threads = readdirSync(`/proc/${pid}/task`);
  return (
    threads.reduce(
      (sum, id) => sum + Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
      0,
    ) / 1000
  );
}

const token = tokenSide();
const jwt = jwtSide();
const SIDES = {
  none: { env: {} },
  token,
  JWT: jwt,
  'token sent, authentication off': { env: {}, secret: token.secret },
  'JWT sent, authentication off': { env: {}, secret: jwt.secret },
};

/** Starts a server; returns how to measure it: the CPU time per answer. */
async function startSide({ env, secret }) {
  const server = await startServer([], { env });
  const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
  const rows = { method: 'PUT', headers: { ...headers, 'content-type': 'application/json' }, body: '[{"id":1}]' };
  const { status } = await fetch(`${server.url}/frames/small`, rows);
  if (status !== 201) throw new Error(`The put was answered with ${status}.`);
  const request = { path: '/exec?handle=small&fmt=json', headers };
  const run = async () => {
    const before = cpuOf(server.pid);
    const { answers, perSecond } = await load(server.url, () => request, LOAD);
    return { cpuMicros: (cpuOf(server.pid) - before) / answers, perSecond };
  };
  return { run, stop: server.stop };
}

/** Measures a fresh process of each side. */
async function measure() {
  const started = {};
  try {
    for (const [name, side] of Object.entries(SIDES)) started[name] = await startSide(side);
    const sides = Object.fromEntries(Object.entries(started).map(([name, { run }]) => [name, run]));
    return await interleave(sides, { rounds: ROUNDS, warmUp: WARM_UP });
  } finally {
    for (const { stop } of Object.values(started)) await stop();
  }
}

const values = Object.fromEntries(Object.keys(SIDES).map((name) => [name, []]));
for (let i = 0; i < GENERATIONS; i++) {
  for (const [name, own] of Object.entries(await measure())) values[name].push(...own);
}
rmSync(folder, { recursive: true });
const summary = Object.fromEntries(
  Object.entries(values).map(([name, own]) => [
    name,
    {
      'CPU µs': Number(median(own.map(({ cpuMicros }) => cpuMicros)).toFixed(1)),
      'answers/s': Math.round(median(own.map(({ perSecond }) => perSecond))),
      ratio: Number(ratio(own, values.none, ({ cpuMicros }) => cpuMicros).toFixed(3)),
    },
  ]),
);
console.table(summary);
writeResults('auth', { generations: GENERATIONS, rounds: ROUNDS, summary, values });
